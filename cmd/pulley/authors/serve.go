package authors

import (
	"context"
	"errors"

	"pulley/adapter"
	"pulley/adapter/own"
	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
)

// AdapterServeCmd is pulley adapter serve.
type AdapterServeCmd struct {
	Design string `arg:"" help:"The scheduler, with its options after colons, as in pull:scan=sql; pulley list backends names all."`
}

// Help completes the command's help.
func (AdapterServeCmd) Help() string {
	return "It speaks the adapter protocol of docs/adapter.md on standard input and output. pulley chaos --systems starts it where a scheduler of ours is named.\n\n" +
		"Exit status: 0 after stop or the end of standard input, 1 if the conversation breaks, 2 for a mistake in the command line or if the scheduler cannot work here.\n\n" +
		"Example:\n\n  pulley adapter check pulley adapter serve push"
}

// Run speaks with pulley until it ends the process.
func (o *AdapterServeCmd) Run(c *console.Console) error {
	system, err := own.New(o.Design, measure.Tool("pulley").Version)
	if err != nil {
		return err
	}
	console.TuneGC()
	err = adapter.Serve(context.Background(), c.In, c.Out, system)
	if err != nil && !errors.Is(err, adapter.ErrUnusable) {
		return &console.Status{Code: console.ExitFailed, Err: err}
	}
	return err
}
