package console

import (
	"context"
	"errors"
	"fmt"

	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/python"
)

// IsPython reports whether the program is a workflow in a Python file.
func (p *ProgramArg) IsPython() bool {
	_, _, is := python.SplitTarget(p.File)
	return is
}

// AskPython calls ask with a Python interpreter and a context that ends at a signal.
func AskPython(ask func(context.Context, *python.Interpreter) error) (err error) {
	ctx, stop := Interruptible()
	defer stop()
	interpreter, err := python.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, interpreter.Close()) }()
	return Ended(ctx, refusePython(ask(ctx, interpreter)))
}

func refusePython(err error) error {
	var r *python.Refusal
	if !errors.As(err, &r) {
		return err
	}
	return &Refused{Lines: bound(r.Lines)}
}

func (p *ProgramArg) parsePython(limits ir.Limits) (*ir.Program, error) {
	var source *python.Source
	err := AskPython(func(ctx context.Context, i *python.Interpreter) (err error) {
		source, err = i.Compile(ctx, p.File)
		return err
	})
	if err != nil {
		return nil, err
	}
	p.source = source
	file, _, _ := python.SplitTarget(p.File)
	tree, err := source.Parse(file, limits)
	if err != nil {
		return nil, Refuse(err)
	}
	return tree, nil
}

// Failure converts a failure of an expression of a Python file to Python's form.
func (p *ProgramArg) Failure(f *plan.Failure) *plan.Failure {
	if p.source == nil || f == nil {
		return f
	}
	in := *f
	in.Type, in.Message = p.Error(f.Type, f.Message)
	return &in
}

// Error returns Python's type and message of an error of the compiled program.
func (p *ProgramArg) Error(typ, message string) (string, string) {
	if p.source == nil {
		return typ, message
	}
	return p.source.Error(typ, message)
}

// RunPlain runs the workflow of a Python file in Python itself, without an engine.
func (p *ProgramArg) RunPlain(input []byte) (outcome *python.Outcome, err error) {
	err = AskPython(func(ctx context.Context, i *python.Interpreter) (err error) {
		outcome, err = i.Run(ctx, p.File, input)
		return err
	})
	return outcome, err
}

// completeInput checks an input by the workflow's type hints, and adds defaults.
func (p *ProgramArg) completeInput(name string, data []byte) (full []byte, err error) {
	err = AskPython(func(ctx context.Context, i *python.Interpreter) (err error) {
		full, err = p.completeBy(ctx, i, name, data)
		return err
	})
	return full, err
}

func (p *ProgramArg) completeBy(ctx context.Context, i *python.Interpreter, name string, data []byte) ([]byte, error) {
	full, err := i.Complete(ctx, p.File, data)
	var wrong *python.InputError
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return full, err
}
