package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

type verdict struct {
	Verdict    string   `json:"verdict"`
	Why        []string `json:"why"`
	Instances  int      `json:"instances"`
	Violations []struct {
		Invariant string `json:"invariant"`
		Message   string `json:"message"`
	} `json:"violations"`
}

func readVerdict(dir string) (verdict, error) {
	var v verdict
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return v, err
	}
	return v, json.Unmarshal(text, &v)
}

func (v verdict) invariants() []string {
	var out []string
	for _, x := range v.Violations {
		out = append(out, x.Invariant)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (v verdict) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", v.Verdict, strings.Join(v.Why, "; "))
	for _, x := range v.Violations {
		fmt.Fprintf(&b, "%s: %s\n", x.Invariant, x.Message)
	}
	return b.String()
}

func (p *planter) seeded(c check, dir string, seed int) (string, error) {
	text, err := os.ReadFile(casePath(p.root, c.Case))
	if err != nil {
		return "", err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return "", fmt.Errorf("%s: %w", c.Case, err)
	}
	fields["seed"] = seed
	if text, err = json.Marshal(fields); err != nil {
		return "", err
	}
	file := filepath.Join(dir, fmt.Sprintf("seed-%d.json", seed))
	return file, os.WriteFile(file, text, 0o644)
}

var (
	failLine = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	tried    = regexp.MustCompile(`failed after (\d+) tests`)
)

// failedTests lists failed tests without those that failed only by a subtest.
func failedTests(text string) []string {
	var names []string
	for _, m := range failLine.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

func triedOf(text string) string {
	if m := tried.FindStringSubmatch(text); m != nil {
		return m[1] + " programs"
	}
	return ""
}

const (
	caught     = "caught"
	survived   = "SURVIVED"
	equivalent = "equivalent"
	broken     = "BROKEN"
)

type outcome struct {
	Mutant    string  `json:"mutant"`
	What      string  `json:"what"`
	Outcome   string  `json:"outcome"`
	Tier      string  `json:"tier"`
	Invariant string  `json:"invariant"`
	By        string  `json:"by,omitempty"`
	Says      string  `json:"says,omitempty"`
	Seconds   float64 `json:"seconds"`
	After     string  `json:"after,omitempty"`
	Seed      int     `json:"seed,omitempty"`
	Command   string  `json:"command"` // the check, on the unchanged code
	Why       string  `json:"why,omitempty"`
}

type baseline struct {
	text string
	err  error
}

func (p *planter) baseline(ctx context.Context, c check) baseline {
	c.Seeds = 1
	program, err := p.plain(ctx, c)
	if err != nil {
		return baseline{err: err}
	}
	f, err := p.run(ctx, c, nil, program)
	switch {
	case err != nil:
	case f.failed:
		err = fmt.Errorf("its check fails without it, so that it catches none: %s\n%s", c.command(), tail(f.text))
	case f.undecided != "":
		err = fmt.Errorf("its check is inconclusive without it: %s: %s", c.command(), f.undecided)
	}
	return baseline{f.text, err}
}

// unfit explains why a check with this baseline cannot catch a mutant.
func (b baseline) unfit(m mutant) error {
	if b.err != nil {
		return b.err
	}
	if line, yes := firstMatch(m.words(), b.text); yes {
		return fmt.Errorf("its check says %q without it, which %q is to find; choose other words", line, m.Says)
	}
	return nil
}

func (m mutant) words() *regexp.Regexp {
	if m.Check.Case != "" {
		return regexp.MustCompile("^" + m.Invariant + ": .*" + m.Says)
	}
	return regexp.MustCompile(m.Says)
}

func (p *planter) try(ctx context.Context, m mutant, without baseline) outcome {
	o := outcome{Mutant: m.Name, What: m.What, Tier: m.tier(), Invariant: m.Invariant, Command: m.Check.command()}
	if m.Equivalent != "" {
		o.Outcome, o.Why = equivalent, m.Equivalent
		return o
	}
	err := without.unfit(m)
	var f finding
	if err == nil {
		f, err = p.plant(ctx, m)
	}
	if err != nil {
		o.Outcome, o.Why = broken, err.Error()
		return o
	}
	o.Seconds, o.After, o.Seed, o.By = f.seconds, f.cases, f.seed, strings.Join(f.names, " ")
	o.Outcome, o.Says, o.Why = judge(m, f)
	return o
}

func (p *planter) plant(ctx context.Context, m mutant) (finding, error) {
	program, err := p.mutant(ctx, m, m.Check)
	if err != nil {
		return finding{}, err
	}
	defer func() { _ = os.Remove(program) }() // programs are large
	return p.run(ctx, m.Check, m.words(), program)
}

func judge(m mutant, f finding) (end, says, why string) {
	if !f.failed {
		why = "its check passes"
		if f.undecided != "" {
			why = "its check is inconclusive: " + f.undecided
		}
		return survived, "", why
	}
	if m.Check.Case != "" && !slices.Contains(f.names, m.Invariant) {
		return survived, "", fmt.Sprintf("its check fails by %v, not by %s:\n%s", f.names, m.Invariant, tail(f.text))
	}
	line, yes := firstMatch(m.words(), f.text)
	if !yes {
		return survived, "", fmt.Sprintf("its check fails, and says nothing of %q:\n%s", m.words(), tail(f.text))
	}
	return caught, strings.TrimSpace(line), ""
}

const tailMax = 4000

func tail(text string) string {
	if len(text) > tailMax {
		return "…" + text[len(text)-tailMax:]
	}
	return text
}
