package authors

import (
	"fmt"

	"pulley/adapter/check"
	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/cmd/pulley/console"
)

// AdapterCmd is pulley adapter.
type AdapterCmd struct {
	Check AdapterCheckCmd `cmd:"" help:"Say what an adapter does wrong by the adapter protocol."`
	Serve AdapterServeCmd `cmd:"" help:"Be an adapter for a scheduler of ours, which comes through the same door as other systems."`
}

// AdapterCheckCmd is pulley adapter check.
type AdapterCheckCmd struct {
	Setting []string `sep:"none" placeholder:"NAME=VALUE" help:"Give a setting of the adapter another value than its default; may be repeated."`
	console.ServerFlags
	console.TimeoutFlag `set:"wait=30s" set:"answer=an answer, for an end, and for a few instances while nothing goes wrong"`
	console.FormatFlag
	Command []string `arg:"" passthrough:"" help:"The adapter's program and its arguments; or one text, such as 'exec:./my-adapter --flag'."`
}

// Help completes the command's help.
func (AdapterCheckCmd) Help() string {
	return "An adapter is a program in any language through which pulley drives a queue or a workflow engine that it did not write; docs/adapter.md has the protocol. " +
		"Its processes are started on databases and folders of their own, and put before what runs do: work of each shape that it declares, strange input, kills, pauses, lost connections, stops. " +
		"It is held to what it promises, and nothing is measured. Each finding is a line: what was checked, what was sent, what was expected, what came, and what to do.\n\n" +
		"Instances have 20 times recovers_ms after a kill, and a minute at least.\n\n" +
		"Exit status: 0 if nothing is wrong, 1 for findings, 2 for a mistake in the command line, a program that is not there or an unusable database."
}

// Run checks and prints.
func (o *AdapterCheckCmd) Run(c *console.Console) error {
	if o.Timeout <= 0 {
		return fmt.Errorf("--timeout is a time above zero; write such as 30s")
	}
	options := check.Options{Timeout: o.Timeout, Log: func(line string) { c.Say("adapter: %s", line) }}
	var err error
	if options.Command, err = host.Command(o.Command...); err != nil {
		return err
	}
	if err := check.CanRun(options.Command); err != nil { // before a server is started
		return err
	}
	if options.Settings, err = host.ParseSettings(o.Setting); err != nil {
		return fmt.Errorf("--setting: %w", err)
	}
	ctx, stop := console.Interruptible()
	defer stop()
	server, closing, err := o.Serve(ctx, c)
	if err != nil {
		return err
	}
	defer closing()
	options.DSN = server.DSN()
	report, err := check.Run(ctx, options)
	if ctx.Err() != nil || err != nil {
		return console.Ended(ctx, err)
	}
	found := checks{Passed: report.Passed, LeftOut: report.LeftOut}
	if h := report.Hello; h != nil {
		found.Of = fmt.Sprintf("%s: %s %s", h.Name, h.System, h.SystemVersion)
	}
	for _, f := range report.Findings {
		found.add(finding(f), f.String())
	}
	return found.print(c, o.FormatFlag, struct {
		Hello *protocol.Hello `json:"hello"` // null: there was none
		checksJSON
	}{report.Hello, found.json()})
}
