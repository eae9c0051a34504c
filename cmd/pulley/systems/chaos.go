package systems

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/judge"
	"pulley/adapter/named"
	"pulley/adapter/protocol"
	"pulley/adapter/trial"
	"pulley/adapter/workload"
	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/chaos/world"
	"pulley/cmd/pulley/console"
	"pulley/engine/pgserver"
	"pulley/internal/live"
	"pulley/reports/record"
	"pulley/scenarios"
)

// Chaos is a run of pulley chaos with systems behind adapters.
type Chaos struct {
	Systems   []string // names, joined by commas, or commands of adapters
	Settings  []string // NAME=VALUE
	Scenarios []string // with sizes; nil: some small ones
	Set       []string // parameters of scenarios
	Faults    []string // words for kinds
	Replay    string   // a case's file, instead of all above; empty: none

	Seed                       uint64
	Duration                   time.Duration
	Exhaust                    time.Duration // zero: no exhaustive faults
	Shrink                     time.Duration
	Processes, Slots, InFlight int
	Out                        string
	JSON                       bool
	Find                       func(name string) (scenarios.Scenario, error) // of a name, or of a file
}

// IsCase reports whether a file has a case of a system behind an adapter: it names the adapter's command.
func IsCase(file string) bool {
	text, err := os.ReadFile(file)
	var c struct{ Command []string }
	return err == nil && json.Unmarshal(text, &c) == nil && len(c.Command) > 0
}

// Run disturbs one system after another, and compares them.
func (o *Chaos) Run(c *console.Console) error {
	if err := console.Writable(o.Out); err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	cases, err := o.systemCases(ctx, c)
	if err != nil {
		return console.Ended(ctx, console.Refuse(err))
	}
	run, end := c.Follow("chaos", o.Out)
	err = o.finish(ctx, c, run, cases)
	end(err)
	return err
}

func (o *Chaos) finish(ctx context.Context, c *console.Console, run *live.Run, cases []namedCase) error {
	findings, failed := o.confirmAll(ctx, c, run, cases)
	if len(findings) > 0 {
		if err := o.printFindings(c, findings, len(cases)); err != nil {
			return err
		}
	}
	if failed != nil {
		return console.Ended(ctx, failed)
	}
	return status(findings)
}

// confirmAll runs each case and writes what it finds. The findings with an error are those until then.
func (o *Chaos) confirmAll(ctx context.Context, c *console.Console, run *live.Run, cases []namedCase) (findings []*trial.Finding, err error) {
	for i, kase := range cases {
		c.Say("[%d/%d] %s: things go wrong for %s; then all instances must end", i+1, len(cases), kase.name, time.Duration(kase.LastMS)*time.Millisecond)
		found, err := trial.Confirm(ctx, kase.Case, trial.Config{
			OpenServer: func(ctx context.Context) (*pgserver.Server, error) { return openTrialServer(ctx, c, kase.Case) },
			Progress: func(line string) {
				run.Say("%s", line)
				run.Step(live.Step{What: kase.name, Detail: line, Done: float64(i), Total: float64(len(cases)), Unit: "systems"})
			},
			Log: func(process int, line string) { c.Say("process %d: %s", process, line) },
		}, o.Shrink)
		if found == nil {
			return findings, err
		}
		dir := o.folderOf(i, len(cases), found)
		if err := o.writeFinding(found, dir); err != nil {
			return findings, err
		}
		if err := writeRecord(found, dir); err != nil {
			return findings, err
		}
		findings = append(findings, found)
		c.Say("report: %s", filepath.Join(dir, record.ReportFile))
		if err != nil {
			return findings, fmt.Errorf("%w; %s has %s", err, dir, interruptedText(found))
		}
	}
	return findings, nil
}

// interruptedText is what was found when a signal ended the search for a smaller case, or the repetition before it.
func interruptedText(f *trial.Finding) string {
	if f.Outcome() == judge.Breaks {
		return "the violation and its smallest case until then"
	}
	return "a run that broke a promise, but was not repeated until it did again: it decides nothing"
}

// openTrialServer starts the server of one run.
func openTrialServer(ctx context.Context, c *console.Console, k trial.Case) (*pgserver.Server, error) {
	return world.OpenServer(ctx, cases.Case{Engines: k.Processes}, nil, func(line string) { c.Say("%s", line) })
}

// namedCase is a case with the system's name, for people.
type namedCase struct {
	name string
	trial.Case
}

// systemCases makes a case for each system, or reads the one to be run again.
func (o *Chaos) systemCases(ctx context.Context, c *console.Console) ([]namedCase, error) {
	if o.Replay != "" {
		kase, err := trial.Load(o.Replay)
		return []namedCase{{strings.Join(kase.Command, " "), kase}}, err
	}
	systems, err := named.ParseAll(o.Systems)
	if err != nil {
		return nil, fmt.Errorf("--systems: %w", err)
	}
	kinds, err := o.trialKinds(c)
	if err != nil {
		return nil, err
	}
	graphs, err := o.graphs()
	if err != nil {
		return nil, err
	}
	settings, err := host.ParseSettings(o.Settings)
	if err != nil {
		return nil, fmt.Errorf("--setting: %w", err)
	}
	var all []namedCase
	for _, system := range systems {
		kase, err := o.systemCase(ctx, c, system.Command, settings, kinds, graphs)
		if err != nil {
			return nil, err
		}
		all = append(all, namedCase{system.Name, kase})
	}
	return all, nil
}

func (o *Chaos) systemCase(ctx context.Context, c *console.Console, command []string, settings map[string]string, kinds []fault.Kind, graphs []protocol.Workload) (trial.Case, error) {
	hello, err := host.Probe(ctx, command)
	if err != nil {
		return trial.Case{}, err
	}
	if _, err := host.Settings(hello, settings); err != nil {
		return trial.Case{}, err
	}
	kase := trial.Case{
		Command: command, Settings: settings, Processes: o.Processes, Slots: o.Slots, InFlight: o.InFlight, Seed: o.Seed,
		LastMS: o.Duration.Milliseconds(), WithinMS: o.Duration.Milliseconds(), QuietMS: quiet(o.Duration).Milliseconds(),
	}
	for _, g := range graphs {
		if missing := g.Missing(hello.Shapes); len(missing) > 0 {
			c.Say("%s: %s is left out: the system cannot run %v", hello.System, g.Name, missing)
			continue
		}
		kase.Workloads = append(kase.Workloads, g)
	}
	if len(kase.Workloads) == 0 {
		return kase, fmt.Errorf("%s can run none of the scenarios; its shapes are %v, such as chain=1 for single tasks", hello.System, hello.Shapes)
	}
	kase.Kinds = fault.Names(kinds)
	kase.ExhaustMS = o.Exhaust.Milliseconds()
	return kase, kase.Validate()
}

// Bounds of the times without faults in which what tasks cost is measured.
const (
	quietLeast = 500 * time.Millisecond
	quietMost  = 15 * time.Second
)

// quiet is such a time for a run that lasts so long: a twentieth, or none if that says nothing.
func quiet(duration time.Duration) time.Duration {
	if part := min(duration/20, quietMost); part >= quietLeast {
		return part
	}
	return 0
}

// trialKinds returns the requested kinds that need no cooperation.
func (o *Chaos) trialKinds(c *console.Console) ([]fault.Kind, error) {
	kinds, err := fault.Select(o.Faults)
	if err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	possible := fault.Names(trial.Kinds())
	have := slices.DeleteFunc(slices.Clone(kinds), func(k fault.Kind) bool { return !slices.Contains(possible, k.Name) })
	if len(have) == 0 && len(kinds) > 0 {
		return nil, fmt.Errorf("--faults: none of these can happen to a system behind an adapter; choose from %s", strings.Join(possible, ", "))
	}
	if n := len(kinds) - len(have); n > 0 && !slices.Equal(o.Faults, []string{"all"}) {
		c.Say("%d kinds are left out: they need the help of the process, or containers", n)
	}
	return have, nil
}

// graphs makes the workloads of the scenarios.
func (o *Chaos) graphs() (all []protocol.Workload, err error) {
	words := o.Scenarios
	if len(words) == 0 {
		words = []string{"fanout=8", "chain=5", "diamond=4", "loop=3"}
	}
	set, err := scenarios.ParseSet(o.Set)
	if err != nil {
		return nil, fmt.Errorf("--set: %w", err)
	}
	for _, word := range words {
		name, size, sized, err := scenarios.ParseName(word)
		if err != nil {
			return nil, err
		}
		found, err := o.Find(name)
		if err != nil {
			return nil, err
		}
		opts := scenarios.Options{Set: set, Seed: o.Seed}
		if !sized {
			size = found.Sizes(opts)[0]
		}
		mix, err := found.Mix(size, opts)
		if err != nil {
			return nil, err
		}
		graphs, err := workload.OfMix(mix, workload.Options{Name: word, Seed: o.Seed})
		if err != nil {
			return nil, err
		}
		all = append(all, graphs.Workloads()...)
	}
	return all, nil
}

// folderOf returns where a system's files go.
func (o *Chaos) folderOf(i, n int, f *trial.Finding) string {
	if n == 1 {
		return o.Out
	}
	return filepath.Join(o.Out, fmt.Sprintf("%d-%s", i+1, fileName(f.First.Hello.Name)))
}

// fileName replaces what file names should not have.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, text)
}

// writeFinding writes the smallest case, the finding and the history of the run that shows it.
func (o *Chaos) writeFinding(f *trial.Finding, dir string) error {
	shown := f.First
	if f.Smallest != nil {
		shown = f.Smallest
	}
	for name, value := range map[string]any{"case.json": shown.Case, "result.json": f} {
		if err := record.WriteFile(filepath.Join(dir, name), func(w io.Writer) error { return console.EncodeJSON(w, value) }); err != nil {
			return err
		}
	}
	return record.WriteFile(filepath.Join(dir, "history.ndjson"), func(w io.Writer) error {
		e := json.NewEncoder(w)
		for i := range shown.History.Entries {
			if err := e.Encode(&shown.History.Entries[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// printFindings prints the findings of the first of n systems.
func (o *Chaos) printFindings(c *console.Console, findings []*trial.Finding, n int) error {
	var b bytes.Buffer
	if o.JSON {
		if err := console.EncodeJSON(&b, findings); err != nil {
			return err
		}
	} else {
		for i, f := range findings {
			b.WriteString(f.Text())
			fmt.Fprintf(&b, "again: pulley chaos --replay %s\n\n", filepath.Join(o.folderOf(i, n, f), "case.json"))
		}
		b.WriteString(trial.Table(findings))
	}
	return c.Print(b.String())
}

// status returns the exit status of findings.
func status(findings []*trial.Finding) error {
	worst := 0
	for _, f := range findings {
		switch {
		case f.Outcome() == judge.Breaks:
			worst = console.ExitFailed
		case f.Outcome() == judge.Inconclusive && worst == 0:
			worst = console.ExitInconclusive
		}
	}
	if worst != 0 {
		return &console.Status{Code: worst}
	}
	return nil
}
