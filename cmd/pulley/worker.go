package main

import (
	"fmt"
	"strings"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/engine/worker/pool/check"
	"pulley/internal/plural"
)

type workerCmd struct {
	Check workerCheckCmd `cmd:"" help:"Say what a worker does wrong by the worker protocol."`
}

type workerCheckCmd struct {
	Runs                string `name:"run" placeholder:"CALL" help:"An action of the worker with arguments that may be run: --run 'mail.render {\"to\": \"x\"}'."`
	Slow                string `placeholder:"CALL" help:"One that may be run and takes longer than --timeout; it is cancelled."`
	console.TimeoutFlag `set:"wait=5s" set:"answer=an answer, and for the end"`
	HelloTimeout        time.Duration `default:"30s" placeholder:"TIME" help:"How long the worker may take to begin. Default: 30s."`
	console.FormatFlag
	Command []string `arg:"" passthrough:"" help:"The worker's program and its arguments."`
}

func (workerCheckCmd) Help() string {
	return "A worker is a program in any language that runs actions and speaks JSON lines; docs/worker-protocol.md has the protocol. It is started three times, and put before " +
		"what engines do. Each finding is a line: what was sent, what was expected, what came, and what to do. No action is run with arguments " +
		"that fit, unless --run and --slow name one.\n\nExit status: 0 if nothing is wrong, 1 for findings, 2 for a mistake in the command line or a program that is not there."
}

func (o *workerCheckCmd) Run(c *console.Console) error {
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
	if err := c.PrintAs(o.FormatFlag, checkedWorker(report), workerReport(report)); err != nil {
		return err
	}
	if len(report.Findings) > 0 {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

type workerChecks struct {
	Findings []workerFinding `json:"findings"`
	Passed   []string        `json:"passed"`
	LeftOut  []string        `json:"left_out"`
}

type workerFinding struct {
	Check    string `json:"check"`
	Sent     string `json:"sent"`
	Expected string `json:"expected"`
	Came     string `json:"came"`
	Advice   string `json:"advice"`
}

func checkedWorker(r *check.Report) workerChecks {
	out := workerChecks{Findings: []workerFinding{}, Passed: append([]string{}, r.Passed...), LeftOut: append([]string{}, r.LeftOut...)}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, workerFinding(f))
	}
	return out
}

func workerReport(r *check.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s\n", f)
	}
	for _, left := range r.LeftOut {
		fmt.Fprintf(&b, "left out: %s\n", left)
	}
	fmt.Fprintf(&b, "%s, %s without: %s\n", plural.Of(len(r.Findings), "finding"), plural.Of(len(r.Passed), "check"), strings.Join(r.Passed, ", "))
	return b.String()
}
