package authors

import (
	"fmt"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/worker/pool/check"
)

// WorkerCmd is pulley worker.
type WorkerCmd struct {
	Check WorkerCheckCmd `cmd:"" help:"Say what a worker does wrong by the worker protocol."`
}

// WorkerCheckCmd is pulley worker check.
type WorkerCheckCmd struct {
	Runs                string `name:"run" placeholder:"CALL" help:"An action of the worker with arguments that may be run: --run 'mail.render {\"to\": \"x\"}'."`
	Slow                string `placeholder:"CALL" help:"One that may be run and takes longer than --timeout; it is cancelled."`
	console.TimeoutFlag `set:"wait=5s" set:"answer=an answer, and for the end"`
	HelloTimeout        time.Duration `default:"30s" placeholder:"TIME" help:"How long the worker may take to begin. Default: 30s."`
	console.FormatFlag
	Command []string `arg:"" passthrough:"" help:"The worker's program and its arguments."`
}

// Help completes the command's help.
func (WorkerCheckCmd) Help() string {
	return "A worker is a program in any language that runs actions and speaks JSON lines; docs/worker-protocol.md has the protocol. It is started three times, and put before " +
		"what engines do. Each finding is a line: what was sent, what was expected, what came, and what to do. No action is run with arguments " +
		"that fit, unless --run and --slow name one.\n\nExit status: 0 if nothing is wrong, 1 for findings, 2 for a mistake in the command line or a program that is not there."
}

// Run checks and prints.
func (o *WorkerCheckCmd) Run(c *console.Console) error {
	options := check.Options{
		Command: o.Command, Timeout: o.Timeout, HelloTimeout: o.HelloTimeout,
		Log: func(line string) { c.Say("worker: %s", line) },
	}
	if o.Timeout <= 0 || o.HelloTimeout <= 0 {
		return fmt.Errorf("--timeout and --hello-timeout are times above zero; write such as 5s")
	}
	for _, call := range []struct {
		flag, text string
		into       **check.Call
	}{{"run", o.Runs, &options.Run}, {"slow", o.Slow, &options.Slow}} {
		if call.text == "" {
			continue
		}
		var err error
		if *call.into, err = check.ParseCall(call.text); err != nil {
			return fmt.Errorf("--%s: %w", call.flag, err)
		}
	}
	ctx, stop := console.Interruptible()
	defer stop()
	report, err := check.Run(ctx, options)
	if ctx.Err() != nil {
		return console.Ended(ctx, err)
	}
	if err != nil {
		return err
	}
	found := checks{Passed: report.Passed, LeftOut: report.LeftOut}
	for _, f := range report.Findings {
		found.add(finding(f), f.String())
	}
	return found.print(c, o.FormatFlag, found.json())
}
