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

// helloMax includes the import of a file, on a busy machine.
const helloMax = 5 * time.Minute

// endMax bounds the end of the workers, before they are killed. The pool kills idle ones sooner.
const endMax = 2 * pool.ByeGraceDefault

// WorkersConfig configures the actions of a Python file.
type WorkersConfig struct {
	Processes int               // of Python, 1 or more
	AtOnce    int               // attempts in all processes together, 1 or more
	Log       func(line string) // receives the output of the user's code, concurrently
	Problem   func(error)       // receives deaths of workers, concurrently
}

// PythonWorkers are processes that run the actions of a Python file.
type PythonWorkers struct {
	Actions *worker.Registry // the file's own and imported ones, and the built-in ones that translated workflows call

	// OwnWait reports that the file has an action of its own with the name of the built-in wait for signals.
	OwnWait bool

	interpreter *python.Interpreter
	keeper      *procgroup.Supervisor
	pool        *pool.Pool
}

// StartWorkers starts processes for the actions of the program's Python file, if the called actions need any. A signal ends the
// start. The caller closes the processes; they also end when this process dies.
func (p *ProgramArg) StartWorkers(actions []string, o WorkersConfig) (*PythonWorkers, error) {
	if !slices.ContainsFunc(actions, func(name string) bool { return !slices.Contains(translated, name) }) {
		registry, err := worker.NewRegistry(withTranslated(nil)...)
		return &PythonWorkers{Actions: registry}, err
	}
	ctx, stop := Interruptible()
	defer stop()
	file, _, _ := python.SplitTarget(p.File)
	w, err := StartWorkersOf(ctx, file, o)
	return w, Ended(ctx, err)
}

// StartWorkersOf starts processes for the actions of FILE.py. The caller closes them, as in StartWorkers.
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
	w.OwnWait = slices.ContainsFunc(actions, func(a worker.Action) bool { return a.Name == worker.WaitSignal })
	if w.Actions, err = worker.NewRegistry(withTranslated(actions)...); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// translated are the built-in actions that the translations of Python's raise and wait_signal call.
var translated = []string{"fail", worker.WaitSignal}

// withTranslated adds those of them that are not there.
func withTranslated(actions []worker.Action) []worker.Action {
	for _, a := range worker.Builtins() {
		isThere := slices.ContainsFunc(actions, func(b worker.Action) bool { return b.Name == a.Name })
		if slices.Contains(translated, a.Name) && !isThere {
			actions = append(actions, a)
		}
	}
	return actions
}

// Kill kills a process that has attempts, as if it had died, and reports whether there was one.
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
