package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
)

func TestGraphFormats(t *testing.T) {
	t.Parallel()
	for format, parts := range map[string][]string{
		"text":    {"graph " + pipeline, "fetch_items", "required: number of elements", "loop_head"},
		"dot":     {"digraph", "@fetch_items", "->", "}\n"},
		"mermaid": {"flowchart", "@fetch_items", "-->"},
	} {
		printed := call(t, nil, "graph", pipeline, "--format", format)
		if printed.code != 0 || printed.err != "" {
			t.Fatalf("%s: %+v", format, printed)
		}
		wantParts(t, printed.out, parts...)

		path := filepath.Join(t.TempDir(), "graph.out")
		if got := call(t, nil, "graph", pipeline, "--format", format, "--out", path); got.code != 0 || got.out != "" || got.err != "" {
			t.Fatalf("%s: %+v", format, got)
		}
		if written, err := os.ReadFile(path); err != nil || string(written) != printed.out {
			t.Errorf("%s: the file holds something else (%v): %s", format, err, written)
		}
	}
}

func TestGraphNeedsNoActions(t *testing.T) {
	t.Parallel()
	src := "fn main(input: [], output: [x]):\n    x = @payments.charge(order=1)\n"
	if got := call(t, strings.NewReader(src), "graph", "-"); got.code != 0 || !strings.Contains(got.out, "payments.charge") {
		t.Errorf("%+v", got)
	}
}

func TestGraphRefusals(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile(pipeline)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		parts       []string
	}{
		{"a break outside of loops", "fn main(input: [], output: []):\n    break\n", []string{"-"}, []string{"<stdin>:2:5: ", "break"}},
		{"nested too deep", "fn main(input: [], output: [x]):\n    x = " + strings.Repeat("[", 100) + "\n", []string{"-"}, []string{"<stdin>:2:", "nesting"}},
		{"out is a directory", string(src), []string{"-", "--out", t.TempDir()}, []string{"is a directory"}},
		{"out is below a file", string(src), []string{"-", "--out", filepath.Join(file(t, "f", ""), "graph.dot")}, []string{"not a directory"}},
		{"out is in no folder", string(src), []string{"-", "--out", filepath.Join(t.TempDir(), "new", "graph.dot")}, []string{"--out ", "no such file or directory; name a folder that is there"}},
		{"out is full", string(src), []string{"-", "--out", "/dev/full"}, []string{"/dev/full", "no space left on device"}},
	} {
		if _, err := os.Stat("/dev/full"); c.name == "out is full" && err != nil {
			continue // only Linux has this device
		}
		t.Run(c.name, func(t *testing.T) {
			got := call(t, strings.NewReader(c.stdin), append([]string{"graph"}, c.args...)...)
			if got.code != console.ExitUsage || got.out != "" {
				t.Errorf("exit status %d, output %q", got.code, got.out)
			}
			wantLine(t, got.err, c.parts...)
		})
	}
}

func TestManyMistakesAreBounded(t *testing.T) {
	t.Parallel()
	src := "fn main(input: [], output: []):\n" + strings.Repeat("    x = y\n", 100)
	got := call(t, strings.NewReader(src), "graph", "-")
	lines := strings.Split(strings.TrimSuffix(got.err, "\n"), "\n")
	if got.code != console.ExitUsage || len(lines) > console.ReasonsMax+1 {
		t.Fatalf("exit status %d, %d lines", got.code, len(lines))
	}
	wantParts(t, lines[0], "<stdin>:2:9: ")
}
