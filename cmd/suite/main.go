// Command suite runs this project's own tests, in tiers.
//
//   - check: format, vet, lint, and every test that needs neither Postgres nor a second process.
//   - test: every package, on one Postgres, with the race detector.
//   - nightly: all deep tests, for a given time.
//
// flakes repeats the tests, half of the times on a busy machine, and reports which were not always green.
//
// # Cleanup
//
// Every command that suite starts has its own process group, its own directories for temporary files (one of them in memory, if
// there is enough), and a mark in its environment, which its children inherit. At the first signal suite sends SIGINT to the
// group, waits, and then kills it. However a run ends, suite finally waits for the marked processes, kills those that remain,
// unmounts what is mounted below the directories, and removes them.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

const (
	exitFailed       = 1 // a test, or a part of the night, failed
	exitUsage        = 2 // a mistake in the command line, or nothing can run on this machine
	exitInconclusive = 3 // nothing failed, but a part of the night cannot tell that it passed
	exitInterrupted  = 130
)

type exit struct {
	code int
	err  error
}

func (e *exit) Error() string { return e.err.Error() }
func (e *exit) Unwrap() error { return e.err }

var errFailed = &exit{exitFailed, errors.New("not everything passed")}

type cli struct {
	Check   checkCmd   `cmd:"" help:"Check the format and the code, and run every test that needs neither Postgres nor a second process."`
	Test    testCmd    `cmd:"" help:"Run every test, on one Postgres, with the race detector."`
	Flakes  flakesCmd  `cmd:"" help:"Run all tests several times, every other time on a busy machine, and list those that were not green every time."`
	Nightly nightlyCmd `cmd:"" help:"Run all that is deep, for as long as you say, and write a report."`
	Fuzz    fuzzCmd    `cmd:"" help:"Fuzz everything that reads what others wrote, one target after the other."`
	Seeds   seedsCmd   `cmd:"" hidden:"" help:"Simulate a design, seed after seed, for a while."`
	Image   imageCmd   `cmd:"" hidden:"" help:"Make the image of Postgres that tests of Docker need."`
	Busy    busyCmd    `cmd:"" hidden:"" help:"Keep one processor busy, until standard input ends."`
}

const description = "suite runs the tests of this project: before a change goes in, and at night.\n\n" +
	"Exit status: 0 if all passed; 1 if something failed; 2 for a mistake in the command line, or where nothing could run; " +
	"3 if nothing failed and a part of the night was inconclusive; 130 after Ctrl-C."

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	parser, err := kong.New(&cli{}, kong.Name("suite"), kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		panic(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "suite: %v; see suite --help\n", err)
		return exitUsage
	}
	err = parsed.Run()
	var with *exit
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "suite: interrupted")
		return exitInterrupted
	case err == nil:
		return 0
	case errors.Is(err, errFailed):
		return exitFailed
	}
	fmt.Fprintln(os.Stderr, "suite:", err)
	if errors.As(err, &with) {
		return with.code
	}
	return exitUsage
}
