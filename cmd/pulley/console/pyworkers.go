package console

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/pool"
	"pulley/engine/worker/procgroup"
	"pulley/python"
)

// helloMax bounds how long the import of a file may take, on a busy machine.
const helloMax = 5 * time.Minute

// endMax bounds how long workers may take to end; after that they are killed. The pool does so sooner with one that has nothing to
// do.
const endMax = 2 * pool.ByeGraceDefault

// WorkersConfig says how the actions of a Python file are run.
type WorkersConfig struct {
	Processes int               // of Python, 1 or more
	AtOnce    int               // attempts in all of them together, 1 or more
	Log       func(line string) // is told what the user's code prints; from several goroutines
	Problem   func(error)       // is told of workers that died; from several goroutines
}

// PythonWorkers are processes that run the actions of a Python file.
type PythonWorkers struct {
	Actions *worker.Registry // those that the file defines or imports, and the built-in one that raises errors

	interpreter *python.Interpreter
	keeper      *procgroup.Supervisor
	pool        *pool.Pool
}

// StartWorkers starts processes that run the actions of the program's Python file. The caller closes them, and nothing is left
// then; nothing is left either when this process dies. A signal ends its wait for them. Where the actions that the program calls
// need none, none is started.
func (p *ProgramArg) StartWorkers(actions []string, o WorkersConfig) (*PythonWorkers, error) {
	if !slices.ContainsFunc(actions, func(name string) bool { return name != raiseAction }) {
		registry, err := worker.NewRegistry(raise())
		return &PythonWorkers{Actions: registry}, err
	}
	ctx, stop := Interruptible()
	defer stop()
	file, _, _ := python.SplitTarget(p.File)
	w, err := StartWorkersOf(ctx, file, o)
	return w, Ended(ctx, err)
}

// StartWorkersOf starts processes that run the actions of a Python file, FILE.py. The caller closes them, as those of StartWorkers.
func StartWorkersOf(ctx context.Context, file string, o WorkersConfig) (*PythonWorkers, error) {
	w := &PythonWorkers{}
	if err := w.start(ctx, file, o); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *PythonWorkers) start(ctx context.Context, file string, o WorkersConfig) (err error) {
	if w.interpreter, err = python.Open(); err != nil {
		return err
	}
	if w.keeper, err = procgroup.New(); err != nil {
		return err
	}
	w.pool, err = pool.New(pool.Config{
		Name: file, Command: w.interpreter.Worker(file, (o.AtOnce+o.Processes-1)/o.Processes), Env: w.interpreter.Environ(),
		Processes: o.Processes, HelloTimeout: helloMax, Log: func(_, line string) { o.Log(line) }, Problem: o.Problem,
	}, w.keeper)
	if err != nil {
		return err
	}
	if err := w.pool.Start(ctx); err != nil {
		return err
	}
	actions := w.pool.Actions()
	if !slices.ContainsFunc(actions, isRaise) {
		actions = append(actions, raise())
	}
	if w.Actions, err = worker.NewRegistry(actions...); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// raiseAction is what a raise in Python is translated to.
const raiseAction = "fail"

func isRaise(a worker.Action) bool { return a.Name == raiseAction }

// raise gives the built-in action of that name.
func raise() worker.Action {
	return worker.Builtins()[slices.IndexFunc(worker.Builtins(), isRaise)]
}

// Kill kills one of the processes that has attempts, as if it had died by itself, and says whether there was one.
func (w *PythonWorkers) Kill() bool { return w.pool != nil && w.pool.Kill() }

// Close ends the workers.
func (w *PythonWorkers) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endMax)
	defer cancel()
	var errs []error
	if w.pool != nil {
		errs = append(errs, w.pool.Close(ctx))
	}
	if w.keeper != nil {
		errs = append(errs, w.keeper.Close(ctx))
	}
	if w.interpreter != nil {
		errs = append(errs, w.interpreter.Close())
	}
	return errors.Join(errs...)
}
