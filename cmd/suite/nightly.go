package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/reports"
	"pulley/reports/record"
)

type nightlyCmd struct {
	Night    time.Duration `default:"5h" help:"How long all of it may take, at least 10m; it ends at most a tenth later. Default: 5h."`
	Only     []string      `placeholder:"PART" help:"These parts only, joined by commas; they share the night. Default: all."`
	Goals    bool          `help:"The part chaos continues until 10,000 connections were cut, 5,000 engines killed, 1,000 sessions ended, 1,000 replies lost and 100 servers crashed, for the night at most. Default: for its time."`
	Baseline string        `placeholder:"REV" help:"The git revision that tonight and later nights are held against. Default: that of the first night."`
	Out      string        `default:"out/nightly" help:"Where totals.json, report.html, what failed and the place where each part stopped are kept. Default: out/nightly."`
}

// shortestNight is long enough to begin every part.
const shortestNight = 10 * time.Minute

const shortestPart = time.Minute

const (
	pass         = record.NightPass
	fail         = record.NightFail
	inconclusive = record.NightInconclusive
)

type part struct {
	name  string
	about string
	share float64 // of the night, in percent
	run   func(ctx context.Context, n *night, until time.Time, o *outcome) error
}

// parts is in order: first what every change must pass, last what can use any remaining time.
func parts() []part {
	return []part{
		{"code", "format, vet, lint and shell scripts, as make check reads them", 2, runReading},
		{"modules", "the adapters and what else is a module of its own, built and vetted", 2, runModules},
		{"tests", "every test as before a change, and how long each package took", 14, runTests},
		{"seeds", "simulated worlds of every design, seed after seed, each step checked", 12, runSeeds},
		{"worlds", "simulated worlds replayed on a real Postgres, step by step", 8, runWorlds},
		{"language", "generated programs on every backend, held against the reference interpreter, and printed as Python, against CPython", 7, runLanguage},
		{"fuzz", "texts and programs that no grammar made, for the parser and the compiler", 5, runFuzz},
		{"chaos", "every backend while connections, processes and Postgres fail", 12, runChaos},
		{"systems", "our designs and the reference adapter behind the adapter protocol, while things fail; other people's systems as well, whose verdicts are noted", 3, runSystems},
		{"bugs", "bugs planted in the engine, of which the checks must find each", 11, runBugs},
		{"soak", "one backend under load and faults, to see whether anything grows", 4, runSoak},
		{"benchmarks", "the designs compared and the Go benchmarks, in the form that benchstat reads, added to the history", 7, runBenchmarks},
		{"gate", "this revision against the baseline: both are built, and take turns", 7, runGate},
		{"changes", "the figures of all nights, and where they change for the worse", 1, runChanges},
		{"deep tests", "the tests of one package after the other, as deep as a night allows", 5, runDeepTests},
	}
}

type night struct {
	*nightlyCmd
	*workdir
	began time.Time
	state *state
}

// The record of a night, which package reports shows.
type (
	count   = record.NightCount
	problem = record.NightProblem
	outcome = record.NightPart
	totals  = record.Night
)

func (c *nightlyCmd) Run(ctx context.Context) error {
	chosen, err := c.choose()
	if err != nil {
		return err
	}
	return within(func(p *workdir) error {
		n := &night{nightlyCmd: c, workdir: p, began: time.Now()}
		if n.state, err = readState(filepath.Join(c.Out, "state.json")); err != nil {
			return err
		}
		if c.Baseline != "" {
			if n.state.Baseline, err = n.resolve(ctx, c.Baseline); err != nil {
				return fmt.Errorf("--baseline: %w", err)
			}
		}
		t := &totals{Began: n.began.UTC(), Night: c.Night.String(), Revision: n.revision(ctx), Machine: machine(), Verdict: pass}
		if err := n.build(ctx, chosen); err != nil {
			return err
		}
		for i, part := range chosen {
			t.Parts = append(t.Parts, n.one(ctx, part, n.budget(chosen[i:])))
			judge(t)
			t.Seconds, t.Ended = time.Since(n.began).Seconds(), i == len(chosen)-1 && ctx.Err() == nil
			if err := errors.Join(n.write(t), n.state.write()); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		fmt.Printf("\n%s in %s; %s and %s\n", t.Verdict, time.Since(n.began).Round(time.Second), n.file(record.NightFile), n.file(record.ReportFile))
		switch t.Verdict {
		case fail:
			return errFailed
		case inconclusive:
			return &exit{exitInconclusive, errors.New("nothing failed, and a part was inconclusive")}
		}
		return nil
	})
}

func (c *nightlyCmd) choose() ([]part, error) {
	if len(c.Only) > 0 && c.Night < shortestPart {
		return nil, fmt.Errorf("--night is %v; a part takes %v at least", c.Night, shortestPart)
	}
	if len(c.Only) == 0 && c.Night < shortestNight {
		return nil, fmt.Errorf("--night is %v; every part has its time from %v on", c.Night, shortestNight)
	}
	all := parts()
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.name
	}
	for _, name := range c.Only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--only names %q; choose from %s", name, strings.Join(names, ", "))
		}
	}
	return slices.DeleteFunc(all, func(p part) bool { return len(c.Only) > 0 && !slices.Contains(c.Only, p.name) }), nil
}

func (n *night) budget(left []part) time.Duration {
	var sum float64
	for _, p := range left {
		sum += p.share
	}
	return max(0, time.Duration(left[0].share/sum*float64(time.Until(n.began.Add(n.Night)))))
}

// overdue is the time beyond its budget after which a part is ended.
func overdue(budget time.Duration) time.Duration { return budget/4 + 90*time.Second }

func (n *night) one(ctx context.Context, p part, budget time.Duration) *outcome {
	o := &outcome{Part: p.name, About: p.about, Verdict: pass, Budget: budget.Seconds(), Counts: []count{}, Problems: []problem{}}
	fmt.Printf("%s  %s, for %s\n", time.Now().Format(time.TimeOnly), p.name, budget.Round(time.Second))
	begun := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, budget+overdue(budget), fmt.Errorf("%s did not end %v after its time", p.name, overdue(budget).Round(time.Second)))
	defer cancel()
	err := p.run(limited, n, begun.Add(budget), o)
	o.Seconds = time.Since(begun).Seconds()
	switch {
	case ctx.Err() != nil:
		o.Doubt(problem{What: "interrupted"})
	case err != nil:
		o.Doubt(problem{What: err.Error(), Again: fmt.Sprintf("make nightly NIGHT=%v NIGHT_FLAGS=--only='%s'", max(budget, shortestPart).Round(time.Second), p.name)})
	}
	fmt.Printf("          %s in %s%s\n", o.Verdict, time.Since(begun).Round(time.Second), line(o))
	for _, x := range o.Problems {
		fmt.Printf("          %s\n", firstLine(x.What))
		if x.Again != "" {
			fmt.Printf("            again: %s\n", x.Again)
		}
	}
	return o
}

func line(o *outcome) string {
	var b strings.Builder
	for _, c := range o.Counts {
		fmt.Fprintf(&b, ", %d %s", c.N, c.What)
	}
	return b.String()
}

func judge(t *totals) {
	rank := func(verdict string) int { return slices.Index([]string{pass, inconclusive, fail}, verdict) }
	t.Verdict = slices.MaxFunc(t.Parts, func(a, b *outcome) int { return cmp.Compare(rank(a.Verdict), rank(b.Verdict)) }).Verdict
}

func (n *night) file(names ...string) string {
	return filepath.Join(append([]string{n.Out}, names...)...)
}

func (n *night) write(t *totals) error {
	if err := writeJSON(n.file(record.NightFile), t); err != nil {
		return err
	}
	_, err := reports.Write("night", n.Out)
	return err
}

func (n *night) pulley() string { return filepath.Join(n.dir, "pulley") }

func (n *night) build(ctx context.Context, chosen []part) error {
	if err := os.MkdirAll(n.Out, 0o755); err != nil {
		return err
	}
	if slices.ContainsFunc(chosen, func(p part) bool { return p.name == "code" }) {
		_, _ = n.needLinter(ctx) // the part retries, and reports the error
	}
	return n.runSilently(ctx, "go", "build", "-o", n.pulley(), "./cmd/pulley")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
