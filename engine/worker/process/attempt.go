package process

import (
	"context"
	"fmt"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
	"pulley/internal/cause"
)

// quiet is how long a program's output stays in its pipes. A short program has usually ended by then, and is read afterwards
// without concurrent goroutines.
const quiet = 50 * time.Millisecond

func (a *Action) attempt(ctx context.Context, call worker.Call) (any, error) {
	if ctx.Err() != nil {
		return nil, worker.EndOf(ctx)
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
		Path: a.argv[0], Argv: a.argv, Dir: a.config.Dir, Env: a.environment(ctx, call),
		Stdin: p.child[0], Stdout: p.child[1], Stderr: p.child[2],
	}
	group, err := a.keeper.Start(program, a.config.Limits.group())
	p.closeChild()
	if err != nil {
		return nil, &worker.Error{Type: TypeStart, Message: fmt.Sprintf("the program %s cannot be started: %v", a.argv[0], cause.Of(err))}
	}
	p.begin()
	a.await(ctx, group, p)
	p.drain()
	state := group.State()
	switch {
	case p.isTooLong():
		return nil, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf("the program wrote more than its limit of %d bytes to standard output", a.config.Limits.Output)}
	case group.Overrun():
		return nil, &worker.Error{Type: worker.TypeLimit, Message: fmt.Sprintf("the program had more than its limit of %d processes", a.config.Limits.Processes)}
	case state != nil && state.Success(): // even if it was just asked to end
		return p.result()
	case ctx.Err() != nil:
		return nil, worker.EndOf(ctx)
	}
	return nil, p.failure(state)
}

// await waits for the end of the program, and ends it if necessary.
func (a *Action) await(ctx context.Context, group *procgroup.Group, p *pipes) {
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	select {
	case <-group.Done():
		return
	case <-ctx.Done():
	case <-timer.C:
	}
	p.follow()
	select {
	case <-group.Done():
	case <-p.tooLong:
		group.Kill()
	case <-ctx.Done():
		group.Stop(a.config.Grace)
	}
	<-group.Done()
}
