package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/signal"
	"pulley/engine/worker"
	"pulley/engine/worker/manifest"
	"pulley/engine/worker/pool"
	"pulley/scenarios/behaviour"
)

type actionsFlag struct {
	Actions []string `placeholder:"FILE" sep:"none" help:"A file that says which programs are actions, see below. They replace built-in ones of the same name. May be repeated."`
}

type actionsLimits struct {
	MaxDeliveries int `default:"5" placeholder:"N" help:"How often an attempt is given to a worker that dies with it, or to an engine, before it fails as WorkerDied. Default: 5."`
}

func errDeliveries(n int) error {
	return fmt.Errorf("--max-deliveries %d: choose 1 or more", n)
}

var errNoPython = errors.New("--processes is for the actions of a FILE.py; leave it out")

func errProcesses(n int) error {
	return fmt.Errorf("--processes %d: choose from 1 to %d", n, pool.ProcessesMax)
}

const actionsHelp = "A file of actions is YAML. An action is a program, of which each attempt runs a process: the arguments are JSON on standard input, the result " +
	"is JSON on standard output, and a failure is an exit status with text, or with {\"type\": …, \"message\": …}, on standard error:\n\n" +
	"  actions:\n" +
	"    resize:                              # @resize(image=…) in a workflow\n" +
	"      process: [./resize.py, --fast]     # a program and its arguments; no shell in between\n" +
	"      args: [image]                      # optional, as all that follows: the arguments, exactly\n" +
	"      dir: images                        # where it runs; default: the file's directory\n" +
	"      env: {MODE: fast}\n" +
	"      limits: {time: 30s, output: 1MB, memory: 512MB, open_files: 64, processes: 16}\n" +
	"      at_once: 8                         # processes of this action\n" +
	"      grace: 2s                          # between SIGTERM and SIGKILL\n" +
	"    shout: {worker: words}               # a worker's action; calls: NAME if it has another name there\n" +
	"    render: {job: batch, limit: 1h}      # a job on a server, for each attempt\n" +
	"  workers:                               # long-lived processes, see docs/worker-protocol.md\n" +
	"    words: {command: [python3, words.py], processes: 2}\n" +
	"  jobs:                                  # servers of HTTP jobs, see docs/http-jobs.md\n" +
	"    batch: {url: https://jobs.example.com/v1/jobs, token: {env: JOBS_TOKEN}}\n"

const closeTimeout = 2 * pool.ByeGraceDefault

const processesDefault = 8

// processes 0 means one per processor, at most processesDefault; atOnce bounds concurrent attempts.
func workersConfig(c *console.Console, processes, atOnce int) console.WorkersConfig {
	return console.WorkersConfig{
		Processes: min(cmp.Or(processes, min(runtime.NumCPU(), processesDefault)), atOnce), AtOnce: atOnce,
		Log: func(line string) { c.Say("%s", line) }, Problem: func(err error) { c.Say("pulley: %v", err) },
	}
}

type ownActions struct {
	registry *worker.Registry
	files    []*manifest.Manifest
	python   *console.PythonWorkers // nil without a Python file
}

// takesSignals reports whether workflows may wait for signals: not if a file has its own action of the name.
func (o *ownActions) takesSignals(store backend.Backend) bool {
	_, has := store.(signal.Store)
	return has && (o.python == nil || !o.python.OwnWait) && !slices.ContainsFunc(o.files, func(m *manifest.Manifest) bool {
		return slices.ContainsFunc(m.Actions(), func(a worker.Action) bool { return a.Name == worker.WaitSignal })
	})
}

// open reads the files, starts what their actions need, and checks that the program, if any, calls no other actions. The
// actions of python replace the built-in ones. log receives each line that an action writes to standard error. The caller
// closes the result, and python with it.
func (f *actionsFlag) open(program *plan.Program, python *console.PythonWorkers, log func(action, line string)) (*ownActions, error) {
	own := &ownActions{python: python}
	all := behaviour.Plain().Timed().Describe()
	builtin := len(all)
	if python != nil {
		all, builtin = python.Actions.Describe(), 0
	}
	base := len(all)
	var wrong []error
	for _, file := range f.Actions {
		m, err := manifest.Open(file, manifest.Options{Log: log})
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		own.files = append(own.files, m)
		for _, a := range m.Actions() {
			i := slices.IndexFunc(all, func(b worker.Action) bool { return b.Name == a.Name })
			switch {
			case i < 0:
				all = append(all, a)
			case i < builtin:
				all[i] = a
			case i < base:
				wrong = append(wrong, fmt.Errorf("%s: action %s is in the workflow's file, too; take one out", file, a.Name))
			default:
				wrong = append(wrong, fmt.Errorf("%s: action %s is in another file of --actions, too; take one out", file, a.Name))
			}
		}
	}
	err := console.Refuse(errors.Join(wrong...))
	if err == nil {
		own.registry, err = worker.NewRegistry(all...)
	}
	if err == nil && program != nil {
		unknown := own.registry.Check(program.Graph())
		if wrong := errors.Join(unknown, own.registry.CheckArguments(program.Graph())); wrong != nil {
			var hints []string
			if unknown != nil {
				hints = []string{"pulley: the actions are " + console.ActionNames(own.registry)}
			}
			err = console.Refuse(wrong, hints...)
		}
	}
	if err != nil {
		_ = own.close() // nothing was used
		return nil, err
	}
	return own, nil
}

// grace is how long the engine waits for an action that must end: longer than the action may take.
func (o *ownActions) grace() time.Duration {
	longest := pool.GraceDefault // of a Python file's workers
	for _, m := range o.files {
		longest = max(longest, m.Grace())
	}
	return min(longest+time.Second, time.Hour)
}

func (o *ownActions) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	for _, m := range o.files {
		errs = append(errs, m.Close(ctx))
	}
	if o.python != nil {
		errs = append(errs, o.python.Close())
	}
	return errors.Join(errs...)
}
