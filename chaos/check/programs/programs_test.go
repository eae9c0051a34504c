package programs_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/chaos/check/programs"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// compiled parses and compiles a program.
func compiled(t interface {
	Helper()
	Fatalf(string, ...any)
}, p programs.Program) *ir.Program {
	t.Helper()
	prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
	if _, err := graph.Compile(prog, ir.Limits{}); err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
	return prog
}

// TestTheWholeLanguage wants every construct, and every construct within every other, among as many
// programs as an ordinary test run has.
func TestTheWholeLanguage(t *testing.T) {
	total := programs.Count{}
	all := programs.Generator(programs.Options{})
	for seed := range 2_000 {
		for what, n := range programs.Census(compiled(t, all.Example(seed+1))) {
			total[what] += n
		}
	}
	want := slices.Clone(programs.Constructs)
	for _, in := range programs.Containers {
		for _, what := range programs.Contained {
			want = append(want, in+" > "+what)
		}
		if slices.Contains([]string{"if", "for", "while", "try", "except"}, in) {
			for _, what := range programs.Leaving {
				want = append(want, in+" > "+what)
			}
		}
	}
	var missing []string
	for _, what := range want {
		if total[what] == 0 {
			missing = append(missing, what)
		}
	}
	if len(missing) > 0 {
		t.Errorf("2,000 programs have no %s", strings.Join(missing, ", no "))
	}
	if testing.Verbose() {
		slices.SortFunc(want, func(a, b string) int { return total[a] - total[b] })
		for _, what := range want {
			t.Logf("%6d %s", total[what], what)
		}
	}
}

// TestEveryProgramIsValid wants whatever is drawn, also by a shrinker, to parse and to compile, and the
// same draws to give the same program.
func TestEveryProgramIsValid(t *testing.T) {
	for _, opts := range []programs.Options{{}, {Tame: true}} {
		all := programs.Generator(opts)
		rapid.Check(t, func(t *rapid.T) { compiled(t, all.Draw(t, "program")) })
	}
	all := programs.Generator(programs.Options{})
	for seed := range 100 {
		if a, b := all.Example(seed), all.Example(seed); a.Source != b.Source || string(a.Input) != string(b.Input) {
			t.Fatalf("seed %d gives %#v\nand then %#v", seed, a, b)
		}
	}
}
