package programs_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/ir/programs"
	"pulley/internal/depth"
)

// compiled parses and compiles a program.
func compiled(t interface {
	Helper()
	Fatalf(string, ...any)
}, p programs.Program) {
	t.Helper()
	prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
	if _, err := graph.Compile(prog, ir.Limits{}); err != nil {
		t.Fatalf("%v\n%#v", err, p)
	}
}

// TestTheWholeLanguage wants every construct, and every construct within every other, among as many programs as a soak
// has at least. Before each change it stops as soon as it has seen all of them, and begins where that is soon.
func TestTheWholeLanguage(t *testing.T) {
	const first, most = 5_001, 2_000
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
	total := programs.Count{}
	missing := slices.Clone(want)
	all := programs.Generator(programs.Options{})
	for seed := first; seed < first+most && (len(missing) > 0 || depth.Night()); seed++ {
		p := all.Example(seed)
		prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
		if err != nil {
			t.Fatalf("%v\n%#v", err, p)
		}
		for what, n := range programs.Census(prog) {
			total[what] += n
		}
		missing = slices.DeleteFunc(missing, func(what string) bool { return total[what] > 0 })
	}
	if len(missing) > 0 {
		t.Errorf("%d programs have no %s", most, strings.Join(missing, ", no "))
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
	depth.Checks(t, 50, 2000)
	for _, opts := range []programs.Options{{}, {Tame: true}} {
		all := programs.Generator(opts)
		rapid.Check(t, func(t *rapid.T) { compiled(t, all.Draw(t, "program")) })
	}
	all := programs.Generator(programs.Options{})
	for seed := range depth.Of(20, 200) {
		if a, b := all.Example(seed), all.Example(seed); a.Source != b.Source || string(a.Input) != string(b.Input) {
			t.Fatalf("seed %d gives %#v\nand then %#v", seed, a, b)
		}
	}
}
