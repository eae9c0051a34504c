package console

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"pulley/bench/measure"
	"pulley/internal/live"
	"pulley/reports/record"
)

// How Follow shows a run.
const (
	ProgressAuto  = "auto"
	ProgressPlain = "plain"
	ProgressNone  = "none"
)

// screen is standard error.
func (c *Console) screen() *live.Screen {
	c.once.Do(func() { c.err = live.NewScreen(c.Err, widthOf(c.Err)) })
	return c.err
}

// widthOf returns how wide a terminal is at the moment, or nil for what is no terminal that can erase a line.
func widthOf(w io.Writer) func() int {
	if !IsTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	fd := int(w.(*os.File).Fd())
	return func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

// Clean erases the line of a run that did not end in order.
func (c *Console) Clean() { c.screen().Line(nil) }

// Lines returns a writer for another program's standard error, whose lines are printed whole.
func (c *Console) Lines() io.WriteCloser { return c.screen().Writer() }

// Follow shows the progress of a command: on standard error, as the flag --progress says, and in dir's progress file, unless dir is
// empty. The returned function ends that; it is given the command's error.
func (c *Console) Follow(kind, dir string) (*live.Run, func(error)) {
	run := live.Begin(live.Options{
		Kind: kind, Command: measure.Command(os.Args), Mode: c.mode(), Screen: c.screen(), Dir: dir,
		Problem: func(err error) { c.Say("pulley: the progress cannot be followed: %v", err) },
	})
	return run, func(err error) { run.End(endOf(err), err) }
}

func (c *Console) mode() live.Mode {
	switch {
	case c.Quiet || c.ShowProgress == ProgressNone:
		return live.None
	case c.ShowProgress != ProgressPlain && c.screen().IsTerminal():
		return live.Line
	}
	return live.Plain
}

// endOf is the state in which a command's error leaves its run. A status without an error has its record.
func endOf(err error) string {
	var by *Interrupted
	var s *Status
	switch {
	case err == nil:
		return record.StateEnded
	case errors.As(err, &by), errors.Is(err, context.Canceled):
		return record.StateInterrupted
	case errors.As(err, &s) && s.Code != ExitUsage:
		return record.StateEnded
	}
	return record.StateFailed
}
