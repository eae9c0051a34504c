package python_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pulley/engine/ir/programs"
	"pulley/engine/reference"
	"pulley/internal/depth"
)

type printed struct {
	folder   string
	programs map[string]programs.Program
	tried    int
	why      map[string]int // why programs were not printed: their number by reason
}

func printPrograms(t *testing.T, prefix string, opts programs.Options, first, count int) *printed {
	t.Helper()
	all := &printed{folder: t.TempDir(), programs: map[string]programs.Program{}, tried: count, why: map[string]int{}}
	generator := programs.Generator(opts)
	for seed := first; seed < first+count; seed++ {
		p := generator.Example(seed)
		text, err := programs.Python(p)
		var unprintable *programs.Unprintable
		if errors.As(err, &unprintable) {
			all.why[unprintable.Construct]++
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v\n%#v", seed, err, p)
		}
		file := fmt.Sprintf("%s_%d.py", prefix, seed)
		if err := os.WriteFile(filepath.Join(all.folder, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		all.programs[file] = p
	}
	return all
}

func (p *printed) run(t *testing.T) []ran {
	t.Helper()
	var taken []ran
	for _, c := range byPython(t, "--printed", p.folder) {
		if c.Refused == "" {
			taken = append(taken, c)
			continue
		}
		for line := range strings.Lines(c.Refused) {
			_, reason, _ := strings.Cut(line, ": ")
			p.why["the compiler of Python workflows refuses it: "+strings.TrimSpace(reason)]++
			break
		}
	}
	return taken
}

func (p *printed) report(t *testing.T, taken int) {
	t.Helper()
	var lines []string
	for _, why := range slices.SortedFunc(maps.Keys(p.why), func(a, b string) int { return cmp.Or(p.why[b]-p.why[a], strings.Compare(a, b)) }) {
		lines = append(lines, fmt.Sprintf("%6d %s", p.why[why], why))
	}
	t.Logf("%d of %d programs were printed as Python\n%s", taken, p.tried, strings.Join(lines, "\n"))
}

// TestPrinted compares four results: of CPython on the printed text, of the interpreter on the generated program and on the
// compiled printed text, and of an in-memory engine on the latter.
func TestPrinted(t *testing.T) {
	t.Parallel()
	find(t)
	first, count := seeds(t, depth.Of(40, 2_000))
	r := newRunner(t)
	own := printPrograms(t, "printed", programs.Options{Python: true}, first, count)
	taken := own.run(t)
	for _, c := range taken {
		r.checkPrinted(t, c, own.programs[c.file()])
	}
	own.report(t, len(taken))
	if 10*len(taken) < 9*count {
		t.Errorf("%d of %d programs were printed, and taken by the compiler", len(taken), count)
	}
	whole := printPrograms(t, "whole", programs.Options{}, first, (count+3)/4)
	also := whole.run(t)
	for _, c := range also {
		r.checkPrinted(t, c, whole.programs[c.file()])
	}
	whole.report(t, len(also))
	depth.Done(t, "programs=%d whole=%d tried=%d", len(taken)+len(also), len(also), count+whole.tried)
}

const outcomesMax = 100

// If several branches fail, each of their errors is right.
func (r *runner) checkPrinted(t *testing.T, c ran, p programs.Program) {
	t.Helper()
	want := c.wanted(t)
	original, all := r.interpreter(t, p.Source).Possible(p.Input, r.act(t), reference.Options{}, outcomesMax)
	compiled, also := r.interpreter(t, c.Program).Possible(c.Input, r.act(t), reference.Options{}, outcomesMax)
	if !all || !also {
		return // too many outcomes are right
	}
	before, after := c.ends(t, original), c.ends(t, compiled)
	has := func(ends []ended, end ended) bool {
		return slices.ContainsFunc(ends, func(e ended) bool { return e.same(t, end) })
	}
	var wrong []string
	if !has(before, want) {
		wrong = append(wrong, "CPython and the interpreter differ")
	}
	if slices.ContainsFunc(before, func(e ended) bool { return !has(after, e) }) || slices.ContainsFunc(after, func(e ended) bool { return !has(before, e) }) {
		wrong = append(wrong, "the program and what the compiler makes of its Python text differ")
	}
	if len(original) == 1 && len(compiled) == 1 && calls(original[0]) != calls(compiled[0]) {
		wrong = append(wrong, "the program, and what the compiler makes of its Python text, call other actions:\n"+calls(original[0])+"and\n"+calls(compiled[0]))
	}
	got := r.onEngine(t, c)
	got.Line = 0
	if !has(before, got) {
		wrong = append(wrong, "memory and the interpreter differ")
	}
	if len(wrong) > 0 {
		t.Errorf("%s: %s\nCPython: %v\nthe program: %v\ncompiled: %v\nmemory: %v\ninput %s\n%s\n%s\n", c.Name, strings.Join(wrong, "; "), want, before, after, got, p.Input, p.Source, c.Program)
	}
}

// ends omits lines, which differ in the program's text.
func (c ran) ends(t *testing.T, outcomes []reference.Outcome) []ended {
	var ends []ended
	for _, o := range outcomes {
		end := c.ended(t, o)
		end.Line = 0
		ends = append(ends, end)
	}
	return ends
}

func calls(o reference.Outcome) string {
	var lines []string
	for _, call := range o.Calls {
		lines = append(lines, fmt.Sprintf("%s attempt %d\n", call.Key(), call.Attempt))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
