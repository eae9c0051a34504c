package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/bench/measure"
	"pulley/cmd/pulley/console"
	"pulley/internal/live"
	"pulley/internal/nearest"
	"pulley/reports"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/sim/cases"
	"pulley/sim/explore"
	"pulley/sim/explore/search"
)

// Cmd is pulley sim.
type Cmd struct {
	target
	console.BackendsFlag `set:"backends=push"`
	Seeds                string `default:"0..9999" placeholder:"A..B" help:"From A to B, both included. Default: 0..9999."`
	Bug                  string `placeholder:"NAME" help:"Plant a bug in the design, to see that it is found (pulley list bugs names them); or all, one after the other."`
	Runs                 int    `placeholder:"N" help:"Search so many times for each bug, each in seeds of its own, from --seeds on, and tell how many seeds it took. Default: once; 10 with --bug all."`
	Twice                bool   `help:"Play every seed twice, and compare the traces (I13)."`
	Replay               string `placeholder:"FILE" help:"Play the case of a file again, print its steps, and draw them beside it as FILE.svg."`
	console.OutFlag      `set:"folder=out/sim" set:"files=sim.json, coverage.txt, report.html and, after a violation, case.json with its steps as case.svg and case.txt"`
	console.ShrinkFlag
	console.FormatFlag
}

// Help completes the command's help.
func (Cmd) Help() string {
	return "Each seed is a world of its own in virtual time: engines, whose deciding code is the real one, a database with " +
		"transactions, locks and crashes, and a network, processes and clocks that fail. What a design commits is held against the " +
		"invariants of the engine's documentation, step by step; at the end nothing fails any more, and all must end. " +
		"Without a scenario or a program, programs are random. --backends all is every design that can be simulated.\n\n" +
		"The search stops at a violation. Its case is made smaller and written to DIR/case.json; --replay plays it again. " +
		"With --runs a table says how many seeds each planted bug took: the exit status is 0 if all searches found it by an invariant that it breaks.\n\n" + programHelp +
		"Exit status: 0 without a violation; 1 with one; 3 if a kind of fault or step never happened, in 1,000 seeds or more; 2 for a mistake in the command line.\n\nExamples:\n\n" +
		"  pulley sim --backends journal --seeds 0..99999\n" +
		"  pulley sim --bug token-ignored\n" +
		"  pulley sim flow.ir --input @in.json --backends push,eager --seeds 0..999\n" +
		"  pulley sim --replay out/sim/case.json"
}

// Run searches, or replays one case.
func (o *Cmd) Run(c *console.Console) error {
	if o.Replay != "" {
		return o.replay(c)
	}
	if o.Shrink < 0 {
		return errors.New("--shrink must not be negative")
	}
	searches, err := o.planned(c)
	if err != nil {
		return err
	}
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	debug.SetGCPercent(800) // worlds are small and short
	run, end := c.Follow("sim", o.Out)
	if o.severalTimes() {
		err = o.searchAll(ctx, c, run, searches)
	} else {
		err = o.searchOnce(ctx, c, run, searches)
	}
	end(err)
	return err
}

func (o *Cmd) searchOnce(ctx context.Context, c *console.Console, run *live.Run, searches []search.Search) error {
	var text, covered strings.Builder
	all := []record.SimSearch{}
	file := filepath.Join(o.Out, record.SimCoverageFile)
	var failed error
	few := false
	for _, s := range searches {
		s.Progress = progressOf(run, s)
		found, err := s.Do(ctx)
		if err != nil && (found == nil || !errors.Is(err, context.Canceled)) {
			return console.Ended(ctx, err)
		}
		if found.Counts.Seeds == 0 && found.Bad == nil {
			return console.Ended(ctx, err) // nothing was run
		}
		one := outcomeOf(s, found)
		text.WriteString(found.Summary())
		covered.WriteString(found.Report())
		switch {
		case found.Bad != nil:
			more, err := o.bad(c, found, &one)
			if err != nil {
				return err
			}
			text.WriteString(more)
			failed = &console.Status{Code: console.ExitFailed}
		case err != nil:
			failed = console.Ended(ctx, err)
		}
		few = few || found.Counts.Seeds >= 1000 && len(one.Never) > 0
		if all = append(all, one); failed != nil {
			break
		}
	}
	if err := os.WriteFile(file, []byte(covered.String()), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(&text, "each state, and those that a fault never met: %s\n", file)
	if err := o.report(c, &record.Sim{Searches: all}); err != nil {
		return err
	}
	if err := c.PrintAs(o.FormatFlag, all, text.String()); err != nil {
		return err
	}
	if failed == nil && few {
		return &console.Status{Code: console.ExitInconclusive}
	}
	return failed
}

func progressOf(run *live.Run, s search.Search) func(*explore.Coverage) {
	step := live.Step{What: s.Backend, Total: float64(s.To - s.From + 1), Unit: "seeds"}
	run.Say("%s: seeds %d..%d", s.Backend, s.From, s.To)
	run.Step(step)
	return func(p *explore.Coverage) {
		step.Done, step.Detail = float64(p.Counts.Seeds), p.String()
		run.Step(step)
	}
}

func outcomeOf(s search.Search, found *search.Found) record.SimSearch {
	n := &found.Counts
	one := record.SimSearch{
		Backend: s.Backend, Bug: s.Bug, Seeds: n.Seeds, Steps: n.Steps, VirtualSeconds: time.Duration(n.Virtual).Seconds(), Seconds: found.Elapsed.Seconds(),
		Faults: map[string]int{}, Never: append([]string{}, found.Never()...),
	}
	for i, k := range cases.Kinds() {
		one.Faults[string(k)] = n.Faults[i]
	}
	return one
}

func (o *Cmd) planned(c *console.Console) (planned []search.Search, err error) {
	switch {
	case o.Runs < 0 || o.Runs > searchesMax:
		return nil, fmt.Errorf("--runs is %d; choose from 1 to %d", o.Runs, searchesMax)
	case o.Twice && o.severalTimes():
		return nil, errors.New("--twice is for one search; leave it or --runs out")
	}
	from, to, err := seedRange(o.Seeds)
	if err != nil {
		return nil, err
	}
	backends, err := simulated(o.Backends)
	if err != nil {
		return nil, fmt.Errorf("--backends: %w", err)
	}
	bugs, err := o.bugs(backends)
	if err != nil {
		return nil, fmt.Errorf("--bug: %w", err)
	}
	var mix *scenarios.Mix
	if o.Scenario != "" { // once for all
		if mix, err = o.searched(c); err != nil {
			return nil, console.Refuse(err)
		}
	} else if o.Input != nil {
		return nil, errNoProgram
	}
	for _, backend := range backends {
		for _, bug := range bugs[backend] {
			planned = append(planned, search.Search{Backend: backend, Bug: bug, From: from, To: to, Twice: o.Twice, Mix: mix})
		}
	}
	return planned, nil
}

func seedRange(text string) (from, to uint64, err error) {
	first, last, ok := strings.Cut(text, "..")
	if from, err = strconv.ParseUint(first, 10, 62); err != nil || !ok {
		return 0, 0, fmt.Errorf("--seeds is %q; give them as A..B", text)
	}
	if to, err = strconv.ParseUint(last, 10, 62); err != nil || to < from {
		return 0, 0, fmt.Errorf("--seeds is %q; give them as A..B, the greater last", text)
	}
	return from, to, nil
}

// simulated returns the named designs, each once; all means every one.
func simulated(names []string) ([]string, error) {
	known := explore.Backends()
	if slices.Equal(names, []string{"all"}) {
		return known, nil
	}
	for i, name := range names {
		if !slices.Contains(known, name) {
			return nil, &nearest.Unknown{Kind: "simulated backend", Name: name, Known: append(known, "all")}
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("%s is named twice", name)
		}
	}
	return names, nil
}

// bugs returns the bugs to plant in each design; an empty name means none.
func (o *Cmd) bugs(backends []string) (map[string][]string, error) {
	of := map[string][]string{}
	found := false
	for _, backend := range backends {
		names := cases.BugNames(backend)
		switch {
		case o.Bug == "all":
			of[backend] = nil
			for _, bug := range cases.Bugs(backend) {
				of[backend] = append(of[backend], bug.Name)
			}
		case o.Bug == "" || slices.Contains(names, o.Bug):
			of[backend] = []string{o.Bug}
		}
		found = found || len(of[backend]) > 0
	}
	if found {
		return of, nil
	}
	if len(backends) < len(explore.Backends()) && slices.Contains(cases.BugNames(""), o.Bug) {
		return nil, fmt.Errorf("%s is no bug of %s; pulley list bugs says whose it is", o.Bug, strings.Join(backends, ", "))
	}
	return nil, &nearest.Unknown{Kind: "bug", Name: o.Bug, Known: append(cases.BugNames(""), "all")}
}

func (o *Cmd) bad(c *console.Console, found *search.Found, one *record.SimSearch) (string, error) {
	kase, why := *found.Bad, found.Why
	kase.Why = why[0]
	if o.Shrink > 0 {
		c.Say("seed %d: looking for a smaller case, for %v at most", kase.Seed, o.Shrink)
		kase, why = search.Shrink(kase, why, o.Shrink)
	}
	file := filepath.Join(o.Out, record.SimCaseFile)
	if err := kase.Save(file); err != nil {
		return "", err
	}
	if err := o.drawCase(kase); err != nil {
		return "", err
	}
	one.Violation = &record.SimViolation{Seed: found.Bad.Seed, Why: found.Why, Case: file}
	return fmt.Sprintf("violation, seed %d: %s\nsmallest case: %d faults, %d instances, %d lines of program: %s\nsee it again with: pulley sim --replay %s\n",
		found.Bad.Seed, found.Why[0], len(kase.Faults), len(kase.Arrivals), strings.Count(kase.Source, "\n"), why[0], file), nil
}

// report writes the record and the page on it, and says where that is.
func (o *Cmd) report(c *console.Console, s *record.Sim) error {
	s.Command, s.Tool = measure.Command(os.Args), measure.Tool("pulley")
	if err := record.WriteSim(o.Out, s); err != nil {
		return err
	}
	file, err := reports.Write("sim", o.Out)
	if err != nil {
		return err
	}
	c.Say("report: %s", file)
	return nil
}

// drawCase plays a case once more and writes its steps, drawn and as text.
func (o *Cmd) drawCase(kase cases.Case) error {
	_, trace, err := explore.Replay(kase)
	if err != nil {
		return err
	}
	if err := record.WriteFile(filepath.Join(o.Out, record.SimDrawingFile), trace.SVG); err != nil {
		return err
	}
	return record.WriteFile(filepath.Join(o.Out, record.SimStepsFile), trace.Write)
}

type played struct {
	Violations     []string `json:"violations"`
	Steps          int      `json:"steps"`
	VirtualSeconds float64  `json:"virtual_seconds"`
	Trace          string   `json:"trace"` // a hash
	Drawing        string   `json:"drawing"`
}

func (o *Cmd) replay(c *console.Console) error {
	kase, err := cases.Load(o.Replay)
	if err != nil {
		return err
	}
	result, trace, err := explore.Replay(kase)
	if err != nil {
		return err
	}
	drawing := strings.TrimSuffix(o.Replay, ".json") + ".svg"
	if err := record.WriteFile(drawing, trace.SVG); err != nil {
		return err
	}
	err = c.Show(func(w io.Writer) error {
		if o.JSON() {
			return console.EncodeJSON(w, played{
				Violations: append([]string{}, result.Violations...), Steps: result.Steps, VirtualSeconds: result.Virtual.Seconds(), Trace: result.Hash, Drawing: drawing,
			})
		}
		_, err := fmt.Fprintf(w, "%s\ninput %s\n\n", kase.Source, kase.Input)
		if err = errors.Join(err, trace.Write(w)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "\n%d steps in %v, trace %s; drawn in %s\n", result.Steps, result.Virtual, result.Hash, drawing)
		for _, v := range result.Violations {
			_, err = fmt.Fprintln(w, v)
		}
		return err
	})
	if err != nil {
		return err
	}
	if len(result.Violations) > 0 {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}
