package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"pulley/sim/explore"
)

// The exit statuses of pulley's chaos commands equal suite's.

func runChaos(ctx context.Context, n *night, until time.Time, o *outcome) error {
	dir := n.file("chaos")
	code, output, err := n.askGo(ctx, append([]string{n.pulley(), "chaos-night", "--out", dir}, n.chaosTime(until)...)...)
	var t struct {
		Runs                   int
		Reached                map[string]int64
		Instances, Completions int64
		Kept                   []string
	}
	if err := errors.Join(err, readJSON(filepath.Join(dir, "totals.json"), &t)); err != nil {
		return err
	}
	o.Add("runs", int64(t.Runs))
	o.Add("instances", t.Instances)
	o.Add("completions", t.Completions)
	for _, what := range slices.Sorted(maps.Keys(t.Reached)) {
		o.Add(what, t.Reached[what])
	}
	for _, kept := range t.Kept {
		printChaos(o, kept)
	}
	if code != 0 && len(t.Kept) == 0 {
		o.Doubt(problem{What: fmt.Sprintf("the runs of chaos ended with exit status %d", code), Output: failedPart(output)})
	}
	return nil
}

func (n *night) chaosTime(until time.Time) []string {
	if n.Goals {
		return []string{"--max-duration", left(until)}
	}
	return []string{"--duration", left(until)}
}

func printChaos(o *outcome, dir string) {
	var r struct {
		Verdict    string
		Why        []string
		Violations []struct{ Invariant, Message string }
	}
	if err := readJSON(filepath.Join(dir, "result.json"), &r); err != nil {
		o.Doubt(problem{What: fmt.Sprintf("a run of chaos did not come to a result: %v", err)})
		return
	}
	for _, v := range r.Violations {
		r.Why = append(r.Why, v.Invariant+": "+v.Message)
	}
	p := problem{What: fmt.Sprintf("%s: %s: %s", dir, r.Verdict, strings.Join(r.Why, "; ")), Again: "go run ./cmd/pulley chaos --replay " + filepath.Join(dir, "case.json")}
	if r.Verdict == fail {
		o.Fail(p)
	} else {
		o.Doubt(p)
	}
}

// askGo runs a command whose exit status is a verdict.
func (n *night) askGo(ctx context.Context, args ...string) (code int, output string, err error) {
	var out bytes.Buffer
	err = n.workdir.run(ctx, command{args: args, out: &out})
	if ctx.Err() != nil {
		return 0, "", context.Cause(ctx)
	}
	return status(err), out.String(), judged(err, out.String())
}

// judged is the error of a command that could not run, or reached no verdict.
func judged(err error, output string) error {
	switch status(err) {
	case 0, exitFailed, exitInconclusive:
		return nil
	}
	return fmt.Errorf("%w: %s", err, failedPart(output))
}

func readJSON(file string, value any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func left(until time.Time) string {
	return max(time.Second, time.Until(until).Truncate(time.Second)).String()
}

// soakAround is a soak's time beyond its length: to find its load, and to end.
const soakAround = 75 * time.Second

func runSoak(ctx context.Context, n *night, until time.Time, o *outcome) error {
	designs := explore.Backends()
	turn := n.state.Next["soak"]
	design := designs[turn%uint64(len(designs))]
	length := max(time.Minute, (time.Until(until) - soakAround).Truncate(time.Second))
	dir := n.file("soak")
	code, _, err := n.askGo(ctx, n.pulley(), "chaos", "--soak", "--backend", design, "--duration", length.String(), "--shrink", "0", "--out", dir)
	if err != nil {
		return err
	}
	n.state.Next["soak"] = turn + 1
	var r struct{ Instances, Completions int64 }
	if err := readJSON(filepath.Join(dir, "result.json"), &r); err != nil {
		return err
	}
	o.Add("seconds of "+design+" under load", int64(length.Seconds()))
	o.Add("instances", r.Instances)
	o.Add("completions", r.Completions)
	if code != 0 {
		printChaos(o, dir)
	}
	return nil
}

// runBugs plants every bug of the tier night, then, while there is time, those of the tier test from last night's place on.
func runBugs(ctx context.Context, n *night, until time.Time, o *outcome) error {
	mutants := filepath.Join(n.dir, "mutants")
	if err := n.runSilently(ctx, "go", "build", "-o", mutants, "./chaos/mutants"); err != nil {
		return err
	}
	if _, err := n.plant(ctx, o, mutants, "--tier", "night"); err != nil {
		return err
	}
	if time.Until(until) < time.Minute {
		return nil
	}
	r, err := n.plant(ctx, o, mutants, "--tier", "test", "--for", left(until), "--start", fmt.Sprint(n.state.Next["bugs"]))
	n.state.Next["bugs"] = r.Next
	return err
}

type planted struct {
	Mutants []struct {
		Mutant, Outcome, Invariant, By, Says, Command, Why string
	}
	Next uint64
}

func (n *night) plant(ctx context.Context, o *outcome, program string, args ...string) (r planted, err error) {
	var out, problems bytes.Buffer
	args = append([]string{program, "--format", "json", "--jobs", fmt.Sprint(processors())}, args...)
	err = n.workdir.run(ctx, command{args: args, out: &out, err: &problems})
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err := judged(err, problems.String()); err != nil {
		return r, err
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, fmt.Errorf("the planter of bugs: %w", err)
	}
	for _, m := range r.Mutants {
		o.Add("bugs "+m.Outcome, 1)
		if m.Outcome != "caught" && m.Outcome != "equivalent" {
			o.Fail(problem{What: fmt.Sprintf("the bug %s: %s %s", m.Mutant, m.Outcome, m.Why), Again: "go run ./chaos/mutants --only '^" + m.Mutant + "$'", Output: m.Says})
		}
	}
	return r, nil
}

// Times of a run with faults on a system: that of the faults, and what it takes to start and to let all instances end.
const (
	systemFaults = time.Minute
	systemAround = 45 * time.Second
)

// systemUnderTest is a system behind an adapter. Of one that is not ours, the verdict is noted.
type systemUnderTest struct {
	name string // that pulley chaos --systems takes
	ours bool
}

// listSystems lists our designs and the adapters that others begin with, and, between them, other people's systems.
func (n *night) listSystems(ctx context.Context) ([]systemUnderTest, error) {
	var all []systemUnderTest
	for _, name := range []string{"push", "journal", "exec:python3 examples/adapters/queue.py", "eager", "pull"} {
		all = append(all, systemUnderTest{name, true})
	}
	folders, err := n.nestedModules(ctx)
	for _, folder := range folders {
		if name, is := strings.CutPrefix(folder, "adapters/"); is {
			all = append(all, systemUnderTest{name: name})
		}
	}
	return all, err
}

// runSystems disturbs one system after the other, from last night's place on, at least one.
func runSystems(ctx context.Context, n *night, until time.Time, o *outcome) error {
	all, err := n.listSystems(ctx)
	if err != nil {
		return err
	}
	for first := true; first || time.Until(until) > systemFaults+systemAround; first = false {
		turn := n.state.Next["systems"]
		n.state.Next["systems"]++
		if err := n.disturb(ctx, all[turn%uint64(len(all))], turn, min(systemFaults, max(10*time.Second, time.Until(until)-systemAround)), o); err != nil {
			return err
		}
	}
	return nil
}

func (n *night) disturb(ctx context.Context, s systemUnderTest, turn uint64, faults time.Duration, o *outcome) error {
	if !s.ours {
		if err := n.buildAdapter(ctx, s.name); err != nil {
			return err
		}
	}
	dir := n.file("systems", fmt.Sprintf("%03d-%s", turn, fileName(s.name)))
	args := []string{n.pulley(), "chaos", "--systems", s.name, "--duration", faults.Truncate(time.Second).String(), "--seed", fmt.Sprint(turn + 1), "--shrink", "0", "--out", dir}
	code, output, err := n.askGo(ctx, args...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var r struct {
		Verdict                string
		Why                    []string
		Instances, Completions int64
	}
	if err == nil {
		err = readJSON(filepath.Join(dir, "chaos.json"), &r)
	}
	switch what := fmt.Sprintf("%s: %s: %s", s.name, r.Verdict, strings.Join(firstOf(r.Why, 2), "; ")); {
	case err != nil && s.ours:
		return err
	case err != nil: // such as PgQ, which this Postgres may lack
		o.Notes = append(o.Notes, fmt.Sprintf("%s was not run: %s", s.name, firstLine(failedPart(output))))
		return nil
	case !s.ours:
		o.Notes = append(o.Notes, what)
	case code == exitFailed:
		o.Fail(problem{What: what, Again: "go run ./cmd/pulley chaos --replay " + filepath.Join(dir, "case.json"), Output: failedPart(output)})
	case code != 0:
		o.Doubt(problem{What: what, Again: strings.Join(args, " ")})
	}
	o.Add("systems", 1)
	o.Add("instances", r.Instances)
	o.Add("executions", r.Completions)
	return nil
}

// buildAdapter builds an adapter to where pulley looks for it: to its own place.
func (n *night) buildAdapter(ctx context.Context, name string) error {
	program := filepath.Join(n.dir, "pulley-adapter-"+name)
	if _, err := os.Stat(program); err == nil {
		return nil
	}
	return n.run(ctx, command{args: []string{"go", "build", "-o", program, "."}, dir: filepath.Join("adapters", name)})
}

// firstOf returns the first n texts, and how many follow.
func firstOf(all []string, n int) []string {
	if len(all) <= n {
		return all
	}
	return append(slices.Clone(all[:n]), fmt.Sprintf("and %d more", len(all)-n))
}
