package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/plan"
	"pulley/engine/worker/pool"
)

type runCmd struct {
	console.ProgramArg
	console.ServerFlags
	console.PoolerFlags
	actionsFlag
	actionsLimits
	console.InputFlag
	console.BackendFlag
	Schema              string `placeholder:"NAME" help:"The schema that holds the instance. Default: pulley_push, pulley_journal, pulley_eager, pulley_pull or, with scan=sql, pulley_pull_sql. It is kept in a database that a DSN names."`
	ID                  string `name:"id" placeholder:"UUID" help:"The instance's id. An id that is in the schema already continues, or gives its result. Default: a new one."`
	Workers             int    `default:"64" placeholder:"N" help:"Actions that run at once. Default: 64."`
	Processes           int    `placeholder:"N" help:"Processes of Python that run the actions of a FILE.py. Default: one for each CPU, at most 8."`
	console.TimeoutFlag `set:"wait=10m" set:"answer=the end of the instance"`
	TraceOut            string `placeholder:"FILE" help:"Write what ran as a trace in WfFormat: each action's run time, and what waited for what. pulley scenarios import makes a scenario of it."`
	console.FormatFlag
	Verbose bool `short:"v" help:"Tell on standard error what is used and what is tried again."`
}

func (runCmd) Help() string {
	return "Exit status: 0 if the instance completed, 1 if it failed or was canceled, 2 if there is no result. With --format json, " +
		"statuses 0 and 1 come with one line on standard output:\n\n" +
		`  {"status":"completed"|"failed"|"canceled","result":…,"error":{"type","message","action","position"}|null}` +
		"\n\nInterrupted, it leaves the instance in a database that a DSN names: --id continues with it, pulley cancel ends it." +
		"\n\nActions are the built-in ones, which pulley list actions names, and those of --actions. " + actionsHelp
}

// job is an instance that is ready to run: everything checkable without a server has been checked.
type job struct {
	id      uuid.UUID
	program *plan.Program
	input   json.RawMessage
	spec    designs.Spec
	own     *ownActions
	schema  string
	trace   *traceRecorder // nil: no trace wanted
}

func (r *runCmd) Run(c *console.Console) error {
	j, err := r.prepare(c)
	if err != nil {
		return err
	}
	defer func() {
		if err := j.own.close(); err != nil {
			c.Say("pulley: ending the actions: %v", err)
		}
	}()
	ctx, stop := console.Interruptible()
	defer stop()
	instance, err := r.execute(ctx, c, j)
	if err != nil {
		return err
	}
	told := r.report(c, instance)
	if j.trace != nil {
		if err := j.trace.write(r.TraceOut, j.program.Graph(), fmt.Sprintf("instance %s on %s, %s, %d workers", j.id, j.spec, instance.Status, r.Workers)); err != nil {
			return err
		}
	}
	return told
}

// prepare checks everything that needs no server.
func (r *runCmd) prepare(c *console.Console) (*job, error) {
	spec, err := designs.Parse(r.Backend)
	if err != nil {
		return nil, err
	}
	switch {
	case !spec.NeedsPostgres() && r.DSN != "":
		return nil, fmt.Errorf("backend %s uses no database; leave --dsn out, or choose another backend", spec)
	case !spec.NeedsPostgres() && r.Schema != "":
		return nil, fmt.Errorf("backend %s has no schema; leave --schema out, or choose another backend", spec)
	case len(r.Schema) > stored.SchemaMax:
		return nil, fmt.Errorf("--schema %s: Postgres would cut the name short; choose one of at most %d bytes", r.Schema, stored.SchemaMax)
	case r.Workers < 1 || r.Workers > 100_000:
		return nil, fmt.Errorf("--workers %d: choose from 1 to 100000", r.Workers)
	case r.Processes < 0 || r.Processes > pool.ProcessesMax:
		return nil, errProcesses(r.Processes)
	case r.Processes > 0 && !r.IsPython():
		return nil, errNoPython
	case r.MaxDeliveries < 1:
		return nil, errDeliveries(r.MaxDeliveries)
	case r.Timeout <= 0:
		return nil, stored.ErrTimeout(r.Timeout)
	case r.File == "-" && r.InputText() == "-":
		return nil, errors.New("standard input cannot be both the program and its input; write --input @FILE")
	}
	j := &job{spec: spec, schema: r.Schema, id: uuid.Must(uuid.NewV7())}
	if r.ID != "" {
		if j.id, err = stored.ParseID(r.ID); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	j.schema = cmp.Or(j.schema, stored.SchemaOf(spec))
	if j.program, err = r.Compile(c); err != nil {
		return nil, err
	}
	if j.input, err = r.ReadInput(c, r.InputText(), j.program); err != nil {
		return nil, err
	}
	var workers *console.PythonWorkers
	if r.IsPython() {
		if workers, err = r.StartWorkers(j.program.Graph().Actions(), workersConfig(c, r.Processes, r.Workers)); err != nil {
			return nil, err
		}
	}
	j.own, err = r.open(j.program, workers, r.logger(c))
	return j, err
}

func (r *runCmd) logger(c *console.Console) func(action, line string) {
	if !r.Verbose {
		return nil
	}
	return func(action, line string) { c.Say("@%s: %s", action, console.OneLine(line)) }
}

func (r *runCmd) report(c *console.Console, in backend.Instance) error {
	in.Failure = r.Failure(in.Failure)
	return stored.PrintEnd(c, in, r.FormatFlag)
}

// execute opens a server if needed, and runs the instance. All that it started has ended when it returns.
func (r *runCmd) execute(ctx context.Context, c *console.Console, j *job) (backend.Instance, error) {
	tell := func(line string) {
		if r.Verbose {
			c.Say("pulley: %s", line)
		}
	}
	var o designs.OpenOptions
	kept := false
	if j.spec.NeedsPostgres() {
		server, err := r.Open(ctx, j.schema, tell)
		if err != nil {
			return backend.Instance{}, err
		}
		defer func() {
			if err := server.Close(context.Background()); err != nil {
				c.Say("pulley: ending the server: %v", err)
			}
		}()
		if !r.Verbose && r.Format == "text" {
			c.Say("pulley: using %s", server.Describe())
		}
		o = designs.OpenOptions{
			DSN: server.DSN(), Schema: j.schema, Application: "pulley run", Problem: func(err error) { tell(err.Error()) },
		}
		if kept = !server.Started(); kept {
			err = r.Apply(&o)
		} else {
			err = r.RefuseOwn()
		}
		if err != nil {
			return backend.Instance{}, err
		}
	}
	opening, cancel := context.WithTimeoutCause(ctx, stored.OpenTimeout, stored.ErrSlow)
	defer cancel()
	store, err := j.spec.Open(opening, o)
	if err != nil {
		return backend.Instance{}, console.Ended(ctx, err)
	}
	defer store.Close()
	if r.ID != "" {
		if err := stored.CheckOrigin(ctx, store, j.id, j.program, j.input); err != nil {
			return backend.Instance{}, console.Ended(ctx, err)
		}
	}
	d := &drive{job: j, workers: r.Workers, deliveries: r.MaxDeliveries, timeout: r.Timeout, report: tell}
	if r.TraceOut != "" {
		d.trace = newTraceRecorder(j.id)
		j.trace = d.trace
	}
	in, err := d.run(ctx, store)
	if err == nil {
		return in, nil
	}
	if kept {
		err = fmt.Errorf("%w; instance %s stays in schema %s: with --id %s the same command continues", err, j.id, j.schema, j.id)
	}
	return in, console.Ended(ctx, err)
}
