package console

import (
	"encoding/json"
	"errors"
	"time"

	"pulley/scenarios"
)

// Each idea is a struct that commands embed, so that a flag has one name, default and help text. Kong's tag set sets what
// differs between commands.

// FormatFlag is a command's output format.
type FormatFlag struct {
	Format string `enum:"text,json" default:"text" help:"What goes to standard output: text or json. Default: text."`
}

// JSON reports whether the result is printed as JSON.
func (f FormatFlag) JSON() bool { return f.Format == "json" }

// BackendFlag names one scheduler.
type BackendFlag struct {
	Backend string `default:"push" placeholder:"NAME" help:"The scheduler, with its options after colons, as in pull:scan=sql; pulley list backends names all. Default: push."`
}

// BackendsFlag names several schedulers. The variable backends has the default.
type BackendsFlag struct {
	Backends []string `default:"${backends}" placeholder:"NAME,…" help:"The schedulers, with their options after colons, joined by commas; pulley list backends names all. Default: ${default}."`
}

// SetFlag overrides parameters of scenarios.
type SetFlag struct {
	Set []string `sep:"none" placeholder:"NAME=VALUE" help:"Give a parameter of the scenarios that have it another value; may be repeated."`
}

// InputFlag is a program's input.
type InputFlag struct {
	Input *string `placeholder:"JSON" help:"What the program takes, as a JSON object; @FILE reads it from a file, - from standard input. Default: {}."`
}

// InputText is the given input, or its default.
func (f InputFlag) InputText() string {
	if f.Input == nil {
		return "{}"
	}
	return *f.Input
}

// InputOf reads the input of a program, FILE.ir, that runs as a scenario, and checks it. The input is nil without a program;
// then --input is rejected.
func (f InputFlag) InputOf(c *Console, words ...string) (json.RawMessage, error) {
	var input json.RawMessage
	for _, word := range words {
		name, _, err := scenarios.ParseSizes(word)
		if err != nil {
			return nil, err
		}
		if !scenarios.IsProgram(name) {
			continue
		}
		arg := ProgramArg{File: name}
		program, err := arg.Compile(c)
		if err != nil {
			return nil, err
		}
		if f.InputText() == "-" && input != nil {
			return nil, errors.New("--input -: several programs take it, and standard input is read once; write --input @FILE")
		}
		if input, err = arg.ReadInput(c, f.InputText(), program); err != nil {
			return nil, err
		}
	}
	if f.Input != nil && input == nil {
		return nil, errNoProgram
	}
	return input, nil
}

var errNoProgram = errors.New("--input is for a program; name a FILE.ir")

// SeedFlag is the seed of what the variable drawn describes.
type SeedFlag struct {
	Seed uint64 `default:"1" placeholder:"N" help:"Of ${drawn}. Default: 1."`
}

// OutFlag is the folder for the files that the variable files names.
type OutFlag struct {
	Out string `default:"${folder}" placeholder:"DIR" help:"Where ${files} are written. Default: ${folder}."`
}

// OutFileFlag is a file for what would be printed.
type OutFileFlag struct {
	Out string `placeholder:"FILE" help:"Write to FILE, whole or not at all. Without it: standard output."`
}

// ShrinkFlag bounds the search for a smaller case.
type ShrinkFlag struct {
	Shrink time.Duration `default:"1m" placeholder:"TIME" help:"How long a smaller case is looked for after a violation; 0 for not at all. Default: 1m."`
}

// TimeoutFlag bounds the wait for an answer.
type TimeoutFlag struct {
	Timeout time.Duration `default:"${wait}" placeholder:"TIME" help:"How long to wait for ${answer}. Default: ${wait}."`
}

// TimeScaleFlag scales the recorded times of traces.
type TimeScaleFlag struct {
	TimeScale float64 `default:"${scale}" placeholder:"FACTOR" help:"Multiplies the run times of a trace's tasks; 0 waits for nothing. Default: ${scale}."`
}

// StoreFlags name the schema of instances in a running database.
type StoreFlags struct {
	DSN string `name:"dsn" placeholder:"DSN" help:"The Postgres that the instances are in, such as postgres://user@host:5432/database. Default: PULLEY_DSN."`
	PoolerFlags
	BackendFlag
	Schema string `placeholder:"NAME" help:"The schema that holds the instances. Default: that of pulley run."`
}
