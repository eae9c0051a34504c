package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
)

type search struct {
	Backend    string
	Invariants string
}

// simSeeds is how many seeds each search has; the next search begins after them.
const simSeeds = 4096

type simRow struct {
	Mutant  string         `json:"mutant"`
	Backend string         `json:"backend"`
	What    string         `json:"what"`
	Outcome string         `json:"outcome"`
	Median  uint64         `json:"median"`
	Took    []uint64       `json:"took"`
	By      map[string]int `json:"by"` // searches, by violated invariant
	Why     string         `json:"why,omitempty"`
}

func searchAll(ctx context.Context, root string, mutants []mutant, o options, progress io.Writer) ([]simRow, error) {
	dir, err := os.MkdirTemp("", "pulley-mutants-")
	if err != nil {
		return nil, err
	}
	defer removeAll(dir)
	p := &planter{root: root, dir: dir}
	mutants = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return len(m.Sim) == 0 })
	if len(mutants) == 0 {
		return nil, errors.New("the simulation plays the code of none of these mutants")
	}
	all := make([][]simRow, len(mutants))
	each(ctx, o.jobs, len(mutants), func(i int) {
		rows := p.searches(ctx, mutants[i], o.sim)
		if ctx.Err() == nil {
			all[i] = rows
			fmt.Fprintf(progress, "%-9s %s\n", rows[0].Outcome, mutants[i].Name)
		}
	})
	return slices.Concat(all...), context.Cause(ctx)
}

func (p *planter) searches(ctx context.Context, m mutant, times int) []simRow {
	var rows []simRow
	program, err := p.mutant(ctx, m, check{Case: "sim"})
	if err == nil {
		defer func() { _ = os.Remove(program) }() // programs are large
	}
	for _, s := range m.Sim {
		row := simRow{Mutant: m.Name, Backend: s.Backend, What: m.What}
		if err == nil {
			err = p.search(ctx, program, s, times, &row)
		}
		if err != nil {
			row.Outcome, row.Why = broken, err.Error()
		} else {
			row.judge(s, times)
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *planter) mutant(ctx context.Context, m mutant, c check) (string, error) {
	overlay, err := p.overlay(m)
	if err != nil {
		return "", err
	}
	return p.buildProgram(ctx, c, m.Name, overlay)
}

func (p *planter) search(ctx context.Context, program string, s search, times int, row *simRow) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin*2)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "sim", "--backends", s.Backend, "--runs", fmt.Sprint(times),
		"--seeds", fmt.Sprintf("0..%d", simSeeds-1), "--format", "json", "--out", p.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endsWithin
	var problems strings.Builder
	cmd.Stderr = &problems
	text, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: it found something
		return fmt.Errorf("pulley sim: %w\n%s", err, tail(problems.String()))
	}
	var rows []struct {
		Median uint64
		Took   []uint64
		By     map[string]int
	}
	if err := json.Unmarshal(text, &rows); err != nil || len(rows) != 1 {
		return fmt.Errorf("pulley sim printed %d rows, %v:\n%s", len(rows), err, tail(string(text)))
	}
	row.Median, row.Took, row.By = rows[0].Median, rows[0].Took, rows[0].By
	return nil
}

func (r *simRow) judge(s search, times int) {
	r.Outcome = caught
	if len(r.Took) < times {
		r.Outcome, r.Why = survived, fmt.Sprintf("%d of %d searches found nothing in %d seeds", times-len(r.Took), times, simSeeds)
	}
	for invariant, n := range r.By {
		if !slices.Contains(strings.Fields(s.Invariants), invariant) {
			r.Outcome, r.Why = survived, fmt.Sprintf("%d searches found %s violated, which is not one of %q", n, invariant, s.Invariants)
		}
	}
}

func (r *simRow) by() string {
	var words []string
	for invariant, n := range r.By {
		words = append(words, fmt.Sprintf("%s %d×", invariant, n))
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

func writeSearches(out io.Writer, rows []simRow, format string) (int, error) {
	code := 0
	for _, r := range rows {
		switch {
		case r.Outcome == broken:
			code = exitMistake
		case r.Outcome == survived && code == 0:
			code = exitSurvived
		}
	}
	if format == "json" {
		text, err := json.MarshalIndent(rows, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		return code, err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutant\tdesign\toutcome\tseeds: median\tleast\tmost\tfound by\twhat")
	for _, r := range rows {
		least, most := "–", "–"
		if n := len(r.Took); n > 0 {
			least, most = fmt.Sprint(r.Took[0]), fmt.Sprint(r.Took[n-1])
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Mutant, r.Backend, r.Outcome, r.Median, least, most, r.by(), r.What)
	}
	if err := w.Flush(); err != nil {
		return code, err
	}
	for _, r := range rows {
		if r.Why != "" {
			if _, err := fmt.Fprintf(out, "\n%s, %s: %s\n", r.Mutant, r.Backend, r.Why); err != nil {
				return code, err
			}
		}
	}
	return code, nil
}
