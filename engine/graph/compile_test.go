package graph_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

var update = flag.Bool("update", false, "rewrite the golden renderings")

func compile(t testing.TB, source string, limits ir.Limits) (*graph.Graph, error) {
	t.Helper()
	prog, err := ir.Parse("test.ir", []byte(source), limits)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return graph.Compile(prog, limits)
}

func mustCompile(t testing.TB, source string) *graph.Graph {
	t.Helper()
	g, err := compile(t, source, ir.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return g
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if it should change, run with -update\n%s", file, diff)
	}
}

// Each drawing is also a round trip through the stored definition.
func TestRenderings(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.ir")
	if err != nil || len(files) == 0 {
		t.Fatal("no programs", err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, ".ir")
		t.Run(filepath.Base(base), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			g := mustCompile(t, string(source))
			golden(t, base+".txt", g.Text())
			golden(t, base+".dot", g.DOT())
			golden(t, base+".mermaid", g.Mermaid())
			roundTrip(t, g)
		})
	}
}

func roundTrip(t testing.TB, g *graph.Graph) {
	t.Helper()
	data, err := graph.Encode(g)
	if err != nil {
		t.Fatal(err)
	}
	back, err := graph.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	before, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	after, err := plan.Compile(back)
	if err != nil {
		t.Fatal(err)
	}
	if before.Hash() != after.Hash() || back.Text() != g.Text() {
		t.Errorf("the graph changes when it is stored and read:\n%s", cmp.Diff(g.Text(), back.Text()))
	}
}

func TestRefusals(t *testing.T) {
	body := func(lines ...string) string {
		return "fn f(input: [x], output: [x]):\n    x = @double(value=x)\n\nfn main(input: [n], output: [n]):\n    " + strings.Join(lines, "\n    ") + "\n"
	}
	for _, c := range []struct{ name, source, want string }{
		{"unknown name", body("n = n + nobody"), "test.ir:5:9: nobody has no value anywhere in main; assign it first or make it an input"},
		{"unknown name in an argument", body("n = @echo(value=who)"), "test.ir:5:21: who has no value anywhere in main; assign it first or make it an input"},
		{"the element is known in the call only", body("r = spread n:i -> @echo(value=i)", "n = i"), "test.ir:6:9: i has no value anywhere in main; assign it first or make it an input"},
		{"unknown output", "fn main(input: [], output: [r]):\n    pass\n", "test.ir:1:29: r has no value anywhere in main; assign it first or make it an input"},
		{"several", body("sleep who", "sleep 2 + whose"), "test.ir:5:11: who has no value anywhere in main; assign it first or make it an input\ntest.ir:6:11: whose has no value anywhere in main; assign it first or make it an input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compile(t, c.source, ir.Limits{})
			var refused graph.CompileError
			if !errors.As(err, &refused) {
				t.Fatalf("not a CompileError: %v", err)
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNoMain(t *testing.T) {
	_, err := graph.Compile(&ir.Program{File: "test.ir"}, ir.Limits{})
	if err == nil || err.Error() != "test.ir:1:1: no function main; write fn main(input: [...], output: [...]):" {
		t.Error(err)
	}
}

func TestNodeLimit(t *testing.T) {
	source := "fn main(input: [n], output: [n]):\n" + strings.Repeat("    n = @echo(value=n)\n", 50)
	g, err := compile(t, source, ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = compile(t, source, ir.Limits{Nodes: len(g.Nodes)}); err != nil {
		t.Errorf("refused at the limit: %v", err)
	}
	_, err = compile(t, source, ir.Limits{Nodes: 40})
	if err == nil || !strings.HasPrefix(err.Error(), "test.ir:41:5: ") || !strings.Contains(err.Error(), "nodes after expansion") {
		t.Errorf("over the limit: %v", err)
	}
	if _, err = compile(t, source, ir.Limits{Nodes: len(g.Nodes) - 1}); err == nil {
		t.Error("one over the limit is taken")
	}
}

func TestCallsExpandInPlace(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		b.WriteString("fn f" + strings.Repeat("x", i+1) + "(input: [n], output: [n]):\n")
		if next := "f" + strings.Repeat("x", i+2); i < 39 {
			b.WriteString("    n = " + next + "(n=n)\n    n = " + next + "(n=n)\n")
		} else {
			b.WriteString("    n = n + 1\n")
		}
	}
	b.WriteString("fn main(input: [n], output: [n]):\n    n = fx(n=n)\n")
	_, err := compile(t, b.String(), ir.Limits{})
	if err == nil || !strings.Contains(err.Error(), "nodes after expansion") {
		t.Error(err)
	}
}
