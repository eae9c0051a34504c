package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
)

// drainTimeout bounds reading what a program has written, after it ended. A process that left its group and holds the pipe open is
// not waited for.
const drainTimeout = 2 * time.Second

// attempt runs the program once.
func (a *Action) attempt(ctx context.Context, call worker.Call) (any, error) {
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	p, err := openPipes(call.Args, a.config.Limits.Output, func(line string) {
		if a.config.Log != nil {
			a.config.Log(call.Action, line)
		}
	})
	if err != nil {
		return nil, &worker.Error{Type: TypeStart, Message: err.Error()}
	}
	defer p.close()
	program := procgroup.Program{
		Path: a.argv[0], Argv: a.argv, Dir: a.config.Dir, Env: a.environment(call),
		Stdin: p.stdin.reader, Stdout: p.stdout.writer, Stderr: p.stderr.writer,
	}
	group, err := a.keeper.Start(program, procgroup.Limits{Processes: a.config.Limits.Processes})
	p.closeChild()
	if err != nil {
		return nil, &worker.Error{Type: TypeStart, Message: fmt.Sprintf("the program %s cannot be started: %v", a.argv[0], cause(err))}
	}
	p.copy()
	select {
	case <-group.Done():
	case <-p.tooLong:
		group.Kill()
	case <-ctx.Done():
		group.Stop(a.config.Grace)
	}
	<-group.Done() // soon after it was killed
	p.drain(drainTimeout)
	state := group.State()
	switch {
	case p.isTooLong():
		return nil, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf("the program wrote more than its limit of %d bytes to standard output", a.config.Limits.Output)}
	case group.Overrun():
		return nil, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf("the program had more than its limit of %d processes", a.config.Limits.Processes)}
	case state != nil && state.Success(): // also if it was just asked to end
		return p.result()
	case ctx.Err() != nil:
		return nil, ended(ctx)
	}
	return nil, p.failure(state)
}

// ended tells why an attempt had to end.
func ended(ctx context.Context) error {
	var typed *worker.Error
	if err := context.Cause(ctx); errors.As(err, &typed) {
		return typed
	}
	return ctx.Err()
}

// cause leaves out of an error what its reader is told already.
func cause(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
