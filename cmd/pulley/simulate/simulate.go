package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/sim/cases"
	"pulley/sim/explore"
	"pulley/sim/explore/search"
)

// Cmd is pulley sim.
type Cmd struct {
	Scenario string        `arg:"" optional:"" help:"The workload, as NAME or NAME=SIZE, of those that are written as a program; NAME may be a scenario's file, as in orders.yaml. Or a FILE.ir, or FILE.py[:Class]. Default: random programs."`
	Set      []string      `sep:"none" placeholder:"NAME=VALUE" help:"Give a parameter of the scenario another value; may be repeated."`
	Backend  string        `default:"push" help:"The scheduler's design: push, eager, journal, pull or pull:scan=sql; with --bug all, also all. Default: push."`
	Seeds    string        `default:"0..9999" placeholder:"A..B" help:"From A to B, both included. Default: 0..9999."`
	Replay   string        `placeholder:"FILE" help:"Play the case of a file again, print its steps, and draw them beside it as FILE.svg."`
	Out      string        `default:"out/sim" placeholder:"DIR" help:"Where coverage.txt is written, and case.json after a violation. Default: out/sim."`
	Shrink   time.Duration `default:"1m" help:"How long a smaller case is looked for; 0 for not at all. Default: 1m."`
	Bug      string        `placeholder:"NAME" help:"Plant a bug in the design, to see that it is found: ${bugs}; or all, one after the other."`
	Searches int           `placeholder:"N" help:"Search so many times, each in seeds of its own, from --seeds on, and tell how many seeds each bug took. Default: 10 with --bug all."`
	Twice    bool          `help:"Play every seed twice, and compare the traces (I13)."`

	makespanFlags
}

// Help is the end of the command's help.
func (Cmd) Help() string {
	return "Each seed is a world of its own in virtual time: engines, whose deciding code is the real one, a database with " +
		"transactions, locks and crashes, and a network, processes and clocks that fail. What a design commits is held against the " +
		"invariants of the engine's documentation, step by step; at the end nothing fails any more, and all must end.\n\n" +
		"The search stops at a violation. Its case is made smaller and written to DIR/case.json; --replay plays it again. " +
		"With --searches a table says how many seeds each planted bug took: the exit status is 0 if all searches found it by an invariant that it breaks.\n\n" + programHelp + makespanHelp +
		"Exit status: 0 without a violation; 1 with one; 3 if a kind of fault or step never happened, in 1,000 seeds or more; 2 for a mistake in the command line."
}

// Run searches, or plays one case.
func (o *Cmd) Run(c *console.Console) error {
	if err := o.alone(); err != nil {
		return err
	}
	if o.Workers > 0 {
		return o.makespan(c)
	}
	if o.Replay != "" {
		return o.replay(c)
	}
	if o.severalTimes() {
		return o.searchAll(c)
	}
	s, err := o.search(c)
	if err != nil {
		return err
	}
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	debug.SetGCPercent(800) // worlds are small and short
	found, err := s.Do(ctx)
	if err != nil && (found == nil || !errors.Is(err, context.Canceled)) {
		return console.Ended(ctx, err)
	}
	if err := o.report(c, found); err != nil {
		return err
	}
	switch {
	case found.Bad != nil:
		return o.bad(c, found)
	case err != nil:
		return console.Ended(ctx, err)
	case found.Counts.Seeds >= 1000 && len(found.Never()) > 0:
		return &console.Status{Code: console.ExitInconclusive}
	}
	return nil
}

// report prints what was covered, and writes the whole of it.
func (o *Cmd) report(c *console.Console, found *search.Found) error {
	file := filepath.Join(o.Out, "coverage.txt")
	if err := os.WriteFile(file, []byte(found.Report()), 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprint(c.Out, found.Summary(), "each state, and those that a fault never met: ", file, "\n")
	return err
}

func (o *Cmd) search(c *console.Console) (search.Search, error) {
	s := search.Search{Backend: o.Backend, Bug: o.Bug, Twice: o.Twice}
	if !slices.Contains(explore.Backends(), o.Backend) {
		return s, fmt.Errorf("--backend is %q; choose from %s", o.Backend, strings.Join(explore.Backends(), ", "))
	}
	if o.Bug != "" && !slices.Contains(cases.BugNames(o.Backend), o.Bug) {
		return s, fmt.Errorf("--bug is %q; choose from %s, or all", o.Bug, strings.Join(cases.BugNames(o.Backend), ", "))
	}
	from, to, ok := strings.Cut(o.Seeds, "..")
	var err error
	if s.From, err = strconv.ParseUint(from, 10, 62); err != nil || !ok {
		return s, fmt.Errorf("--seeds is %q; give them as A..B", o.Seeds)
	}
	if s.To, err = strconv.ParseUint(to, 10, 62); err != nil || s.To < s.From {
		return s, fmt.Errorf("--seeds is %q; give them as A..B, the greater last", o.Seeds)
	}
	if o.Shrink < 0 {
		return s, errors.New("--shrink must not be negative")
	}
	if o.Scenario != "" && o.mix == nil {
		if o.mix, err = o.searched(c); err != nil {
			return s, console.Refuse(err)
		}
	}
	s.Mix = o.mix
	s.Progress = func(p *explore.Coverage) { c.Say("%s", p) }
	return s, nil
}

// bad writes the case of a violation, and says how to see it again.
func (o *Cmd) bad(c *console.Console, found *search.Found) error {
	kase, why := *found.Bad, found.Why
	kase.Why = why[0]
	if o.Shrink > 0 {
		c.Say("seed %d: looking for a smaller case, for %v at most", kase.Seed, o.Shrink)
		kase, why = search.Shrink(kase, why, o.Shrink)
	}
	file := filepath.Join(o.Out, "case.json")
	if err := kase.Save(file); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out, "violation, seed %d: %s\nsmallest case: %d faults, %d instances, %d lines of program: %s\nsee it again with: pulley sim --replay %s\n",
		found.Bad.Seed, found.Why[0], len(kase.Faults), len(kase.Arrivals), strings.Count(kase.Source, "\n"), why[0], file); err != nil {
		return err
	}
	return &console.Status{Code: console.ExitFailed}
}

// replay plays a case, prints its steps and draws them.
func (o *Cmd) replay(c *console.Console) error {
	kase, err := cases.Load(o.Replay)
	if err != nil {
		return err
	}
	result, trace, err := explore.Replay(kase)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out, "%s\ninput %s\n\n", kase.Source, kase.Input); err != nil {
		return err
	}
	if err := trace.Write(c.Out); err != nil {
		return err
	}
	drawing := strings.TrimSuffix(o.Replay, ".json") + ".svg"
	svg, err := os.Create(drawing)
	if err != nil {
		return err
	}
	if err := errors.Join(trace.SVG(svg), svg.Close()); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c.Out, "\n%d steps in %v, trace %s; drawn in %s\n", result.Steps, result.Virtual, result.Hash, drawing); err != nil {
		return err
	}
	if len(result.Violations) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(c.Out, strings.Join(result.Violations, "\n")); err != nil {
		return err
	}
	return &console.Status{Code: console.ExitFailed}
}
