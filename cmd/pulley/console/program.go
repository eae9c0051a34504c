package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/cause"
	"pulley/python"
)

// ProgramArg is a command's program with its limits.
type ProgramArg struct {
	File   string         `arg:"" name:"file" help:"The workflow, FILE.ir or FILE.py[:Class]; - reads a FILE.ir from standard input."`
	source *python.Source `kong:"-"` // nil before translation, and for other files
	Limit  map[string]int `placeholder:"NAME=N" help:"Change a limit, for example nodes=20000 or value_bytes=4194304. May be repeated."`
}

// Compile reads, checks and compiles the program.
func (p *ProgramArg) Compile(c *Console) (*plan.Program, error) {
	program, _, err := p.Translate(c)
	return program, err
}

// Translate compiles the program, and returns its canonical text.
func (p *ProgramArg) Translate(c *Console) (program *plan.Program, text string, err error) {
	limits, err := limitsOf(p.Limit)
	if err != nil {
		return nil, "", err
	}
	tree, err := p.parse(c, limits)
	if err != nil {
		return nil, "", err
	}
	program, err = compileTree(tree, limits)
	return program, ir.Print(tree), err
}

func (p *ProgramArg) parse(c *Console, limits ir.Limits) (*ir.Program, error) {
	if p.IsPython() {
		return p.parsePython(limits)
	}
	name, src, err := c.Read(p.File, limits.WithDefaults().SourceBytes)
	if err != nil {
		return nil, err
	}
	tree, err := ir.Parse(name, src, limits)
	if err != nil {
		return nil, Refuse(err)
	}
	return tree, nil
}

func compileTree(tree *ir.Program, limits ir.Limits) (*plan.Program, error) {
	g, err := graph.Compile(tree, limits)
	if err != nil {
		return nil, Refuse(err)
	}
	program, err := plan.Compile(g)
	if err != nil {
		return nil, Refuse(err)
	}
	return program, nil
}

// Read reads a file, or standard input for -, and returns its name. It reads up to most+1 bytes, so that an excess shows.
func (c *Console) Read(path string, most int) (name string, data []byte, err error) {
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(c.In, int64(most)+1))
		if err != nil {
			return "", nil, fmt.Errorf("reading standard input: %w", cause.Of(err))
		}
		return "<stdin>", data, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w; name a file that can be read", path, cause.Of(err))
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return "", nil, fmt.Errorf("%s: this is a directory; name a file in it", path)
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w; name a file that can be read", path, cause.Of(err))
	}
	return path, data, nil
}

func limitsOf(given map[string]int) (ir.Limits, error) {
	var limits ir.Limits
	if len(given) == 0 {
		return limits, nil
	}
	names := limitNames()
	for name, n := range given {
		if !names[name] {
			return limits, fmt.Errorf("--limit %s: there is no such limit; there are %s", name, listLimits())
		}
		if n < 1 {
			return limits, fmt.Errorf("--limit %s=%d: choose 1 or more", name, n)
		}
	}
	data, err := json.Marshal(given)
	if err != nil {
		return limits, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return limits, d.Decode(&limits)
}

func limitNames() map[string]bool {
	names := map[string]bool{}
	for name := range strings.SplitSeq(listLimits(), ", ") {
		names[name] = true
	}
	return names
}

func listLimits() string {
	var names []string
	for field := range reflect.TypeFor[ir.Limits]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// ActionNames lists actions as a program names them.
func ActionNames(r *worker.Registry) string {
	var names []string
	for _, a := range r.Describe() {
		names = append(names, "@"+a.Name)
	}
	return strings.Join(names, ", ")
}

// ReadInput reads a flag's input, JSON, @FILE or - for standard input, and checks it with the compiled program.
func (p *ProgramArg) ReadInput(c *Console, text string, program *plan.Program) (json.RawMessage, error) {
	name, data := "--input", []byte(text)
	path, isFile := strings.CutPrefix(text, "@")
	if isFile || text == "-" {
		var err error
		most := program.Graph().Limits.WithDefaults().ValueBytes
		if name, data, err = c.Read(path, most); err != nil {
			return nil, err
		}
	}
	return p.checkInput(name, data, program, p.completeInput)
}

// InputCheck checks an input, JSON, and adds defaults. An error says where by name.
type InputCheck func(name string, data []byte) (json.RawMessage, error)

// CheckInputs calls use with a check for many inputs of the compiled program.
func (p *ProgramArg) CheckInputs(program *plan.Program, use func(InputCheck) error) error {
	if !p.IsPython() {
		return use(func(name string, data []byte) (json.RawMessage, error) { return p.checkInput(name, data, program, nil) })
	}
	return AskPython(func(ctx context.Context, i *python.Interpreter) error {
		complete := func(name string, data []byte) ([]byte, error) { return p.completeBy(ctx, i, name, data) }
		return use(func(name string, data []byte) (json.RawMessage, error) {
			return p.checkInput(name, data, program, complete)
		})
	})
}

func (p *ProgramArg) checkInput(name string, data []byte, program *plan.Program, complete func(string, []byte) ([]byte, error)) (json.RawMessage, error) {
	if key := duplicateKey(data); key != "" {
		return nil, fmt.Errorf("%s: the key %q is there twice; write it once", name, key)
	}
	if p.IsPython() {
		var err error
		if data, err = complete(name, data); err != nil {
			return nil, err
		}
	}
	// Only a check; the backend plans the start again, and commits it.
	var wrong *plan.InputError
	if _, err := program.Start(data); errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s: %s", name, wrong.Msg)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}
