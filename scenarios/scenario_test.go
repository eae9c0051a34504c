package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/scenarios/wfformat"
)

func find(t *testing.T, name string) Scenario {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func set(name, value string) Options { return Options{Set: map[string]string{name: value}} }

// hash applies SHA-256 rounds times, each time to the hexadecimal digits of the last.
func hash(text string, rounds int) string {
	for range rounds {
		sum := sha256.Sum256([]byte(text))
		text = hex.EncodeToString(sum[:])
	}
	return text
}

// The results were computed by hand.
func TestByHand(t *testing.T) {
	cases := []struct {
		scenario string
		size     int
		opts     Options
		input    string
		expected string
		nodes    int
	}{
		{"fanout", 2, Options{}, `{"width":0}`, `0`, 2},
		{"fanout", 3, Options{}, `{"width":1}`, `0`, 3},
		{"fanout", 6, Options{}, `{"width":4}`, `12`, 6}, // 0+2+4+6
		{"loop", 1, Options{}, `{"iterations":1}`, `1`, 3},
		{"loop", 4, Options{}, `{"iterations":4}`, `16`, 12},                                 // 1+3+5+7
		{"chain", 1, Options{}, `{"start":7}`, `22`, 1},                                      // 21+1
		{"chain", 3, Options{}, `{"start":7}`, `207`, 3},                                     // 22·3+2 = 68, 68·3+3
		{"pipeline", 8, Options{}, `{"fan_out":8,"loop_iters":4}`, `270`, 18},                // items 2 to 7: 10·27
		{"pipeline", 11, set("iterations", "3"), `{"fan_out":11,"loop_iters":3}`, `330`, 19}, // chunks of 3, items 3 to 8: 10·33
		{"pipeline", 3, Options{}, `{"fan_out":3,"loop_iters":4}`, `0`, 13},                  // empty chunks
		{"pipeline", 0, set("iterations", "1"), `{"fan_out":0,"loop_iters":1}`, `0`, 4},
		// head 5+1 = 6; arms 6·1+1, 6·2+2, 6·3+3, 6·4+4 = 7, 14, 21, 28; gate 6; tail 76, even: up 76+1.
		{"diamond", 1, Options{}, `{"start":5}`, `77`, 8},
		// head 77+2 = 79; arms 80, 160, 240, 320; gate 79; tail 879, odd: down.
		{"diamond", 2, Options{}, `{"start":5}`, `1758`, 16},
		// Only the hash of the empty text.
		{"spread", 0, Options{}, `{"width":0,"rounds":1}`, `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`, 2},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s/%d", c.scenario, c.size), func(t *testing.T) {
			w, err := find(t, c.scenario).Build(c.size, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if string(w.Input) != c.input || string(w.Expected) != c.expected || w.Nodes != c.nodes {
				t.Errorf("input %s, expected %s, %d nodes; want %s, %s, %d", w.Input, w.Expected, w.Nodes, c.input, c.expected, c.nodes)
			}
			if w.Name != c.scenario || w.Size != c.size {
				t.Errorf("named %s, size %d", w.Name, w.Size)
			}
		})
	}
}

// The smallest spread that has an order.
func TestSpreadByHand(t *testing.T) {
	w, err := find(t, "spread").Build(2, set("rounds", "1"))
	if err != nil {
		t.Fatal(err)
	}
	second0 := hash("0:"+hash("0", 1), 1)
	second1 := hash("1:"+hash(hash("1", 1), 1), 1) // element 1 takes two rounds
	want := `"` + hash(second0+","+second1+","+hash(second0, 1), 1) + `"`
	if string(w.Expected) != want || w.Nodes != 7 {
		t.Errorf("expected %s, %d nodes; want %s, 7", w.Expected, w.Nodes, want)
	}
	if hash("abc", 1) != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Error("hash is not SHA-256")
	}
}

func TestDefaultSizesBuild(t *testing.T) {
	for _, s := range All() {
		if s.Doc == "" || s.SizeMeans == "" || !slices.IsSorted(s.DefaultSizes) || len(s.DefaultSizes) == 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
		before := 0
		for _, size := range s.Sizes(Options{}) {
			w, err := s.Build(size, Options{})
			if err != nil {
				t.Error(err)
				continue
			}
			if w.Nodes <= before || !json.Valid(w.Input) || !json.Valid(w.Expected) || len(w.Actions) == 0 || w.Size != size || w.Name != s.Name {
				t.Errorf("%s %d: %d nodes after %d, input %s, expected %s, actions %v", s.Name, size, w.Nodes, before, w.Input, w.Expected, w.Actions)
			}
			before = w.Nodes
			checkActions(t, w)
			if w.Source != "" {
				if _, err := ir.Parse("again.ir", []byte(w.Source), ir.Limits{}); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func checkActions(t *testing.T, w Workload) {
	t.Helper()
	seen := map[string]bool{}
	for _, n := range w.Graph.Nodes {
		if n.Kind == graph.Action {
			seen[n.Action] = true
		}
	}
	for _, a := range w.Actions {
		if !seen[a] {
			t.Errorf("%s: the action %s is not in the graph", w.Name, a)
		}
		delete(seen, a)
	}
	if len(seen) > 0 || !slices.IsSorted(w.Actions) {
		t.Errorf("%s: actions %v lack %v", w.Name, w.Actions, seen)
	}
}

func TestFind(t *testing.T) {
	var names []string
	for _, s := range Library() {
		names = append(names, s.Name)
	}
	if usual := strings.Join(names[:len(All())], " "); usual != "fanout loop spread chain diamond pipeline trace" {
		t.Errorf("the usual scenarios are %s", usual)
	}
	for name, want := range map[string]string{
		"fan-out":   `there is no scenario "fan-out", did you mean "fanout"?`,
		"Fanout":    `there is no scenario "Fanout", did you mean "fanout"?`,
		"loops":     `there is no scenario "loops", did you mean "loop"?`,
		"tarce":     `there is no scenario "tarce", did you mean "trace"?`,
		"":          `there is no scenario ""`,
		"\nxyzzy":   `there is no scenario "\nxyzzy"`,
		"a.py:Flow": "a.py:Flow is no scenario: a workflow in Python becomes one as a program, which pulley compile a.py:Flow --out FILE.ir makes",
		"orders.ir": "orders.ir: no such file or directory; name a file that can be read",
	} {
		if _, err := Find(name); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for _, s := range Library() {
		if found := find(t, s.Name); found.Name != s.Name {
			t.Errorf("%s finds %s", s.Name, found.Name)
		}
	}
}

func TestRefusals(t *testing.T) {
	const huge = int(^uint(0) >> 1)
	cases := []struct {
		scenario string
		size     int
		opts     Options
		want     string
	}{
		{"fanout", 1, Options{}, `fanout: size 1: the smallest size is 2 (nodes, the first and the last included)`},
		{"fanout", -1, Options{}, `fanout: size -1: the smallest size is 2 (nodes, the first and the last included)`},
		{"fanout", huge, Options{}, fmt.Sprintf(`fanout: size %d: the largest size is 100002 (nodes, the first and the last included)`, huge)},
		{"loop", 0, Options{}, `loop: size 0: the smallest size is 1 (iterations, of three nodes each)`},
		{"loop", 100_001, Options{}, `loop: size 100001: the largest size is 100000 (iterations, of three nodes each)`},
		{"spread", 11_738, Options{}, `spread: size 11738: the largest size is 11737 (elements of the first two spreads; the third has a third of them)`},
		{"spread", 1, set("rounds", "0"), `spread: size 1: spread.ir:8:33: the instance failed with @hash: ArgumentError: action hash: argument rounds is 0, must be at least 1; if that is meant, write expect: {failure: {type: ArgumentError}}`},
		{"spread", 1, set("round", "0"), `spread: spread has no parameter round; did you mean rounds?`},
		{"spread", 1, set("rounds", "[1"), `spread: rounds=[1: that is no value; write a number or a text, as in rounds=8`},
		{"chain", 1, set("rounds", "1"), `chain: chain has no parameters, and so no rounds`},
		{"chain", 0, Options{}, `chain: size 0: the smallest size is 1 (nodes)`},
		{"chain", 20_000, Options{}, `chain: size 20000: nodes: 20000 is over the limit of 10000; take a smaller size or raise the limit`},
		{"diamond", 0, Options{}, `diamond: size 0: the smallest size is 1 (layers, of eight nodes each)`},
		{"diamond", 20_000, Options{}, `diamond: size 20000: nodes: 20000 is over the limit of 10000; take a smaller size or raise the limit`},
		{"pipeline", -1, Options{}, `pipeline: size -1: the smallest size is 0 (elements of the fan-out)`},
		{"pipeline", 30_000, Options{}, `pipeline: size 30000: the largest size is 22539 (elements of the fan-out)`},
		{"branches", 10, Options{}, `branches: size 10: its instances run 8 different workloads in turn, and one is wanted here`},
		{"trace", 0, Options{}, `trace: size 0: a trace of the shape montage has from 8 to 100000 tasks, not 0`},
		{"trace", 10, Options{Shape: "star"}, `trace: size 10: there is no shape "star" of traces; take one of scatter, forkjoin, montage, pipelines, layered`},
		{"trace", 10, Options{TimeScale: -1}, `trace: size 10: trace "montage-10-0": the time scale -1 must be 0 or a positive number`},
	}
	for _, c := range cases {
		if _, err := find(t, c.scenario).Build(c.size, c.opts); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
}

// A chain and a row of diamonds have the most nodes, and one more.
func TestNodeLimit(t *testing.T) {
	limits := ir.Limits{Nodes: 120}
	for name, most := range map[string]int{"chain": 110, "diamond": 11} {
		s := find(t, name)
		if _, err := s.Build(most, Options{Limits: limits}); err != nil {
			t.Errorf("below the limit: %v", err)
		}
		_, err := s.Build(120, Options{Limits: limits})
		if err == nil || !strings.Contains(err.Error(), "over the limit of 120") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s over the limit: %v", name, err)
		}
	}
}

func TestGivenTrace(t *testing.T) {
	made, err := wfformat.Generate(wfformat.Layered, 25, 4)
	if err != nil {
		t.Fatal(err)
	}
	made.File, made.Warnings = "some/where/my trace.json", []string{"careful"}
	s, opts := find(t, "trace"), Options{Trace: made}
	if sizes := s.Sizes(opts); !cmp.Equal(sizes, []int{25}) {
		t.Errorf("sizes %v, want the trace's own", sizes)
	}
	for _, size := range []int{0, 25} {
		w, err := s.Build(size, opts)
		if err != nil {
			t.Fatal(err)
		}
		if w.Name != "trace:my trace" || w.Size != 25 || w.Nodes != 25 || string(w.Expected) != string(made.Expected()) || !cmp.Equal(w.Warnings, made.Warnings) {
			t.Errorf("got %+v", w)
		}
	}
	const want = `trace: size 24: the trace "my trace" has 25 tasks; leave the size out`
	if _, err := s.Build(24, opts); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestPrograms(t *testing.T) {
	files, err := filepath.Glob("programs/*.ir")
	list, listErr := Programs()
	if err != nil || listErr != nil || len(files) != len(list) || len(list) < 45 {
		t.Fatalf("%d files (%v), %d programs (%v)", len(files), err, len(list), listErr)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".ir")
		text, err := Source(name)
		if err != nil {
			t.Fatal(err)
		}
		if file, err := os.ReadFile(f); err != nil || string(file) != text {
			t.Errorf("%s differs from its file (%v)", name, err)
		}
		if _, err := ir.Parse(f, []byte(text), ir.Limits{}); err != nil {
			t.Error(err)
		}
	}
	const want = `there is no program "../x" in scenarios/programs`
	if _, err := Source("../x"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The comment at a program's beginning lacks what it must state.
func TestReadProgramRefuses(t *testing.T) {
	for source, want := range map[string]string{
		"fn main(input: [], output: []):\n    pass\n": `program p does not begin with a comment that says what it shows, and with an input`,
		"# Shows it.\n":                                `program p does not begin with a comment that says what it shows, and with an input`,
		"# input: {}\n# gives: 1\n":                    `program p does not begin with a comment that says what it shows, and with an input`,
		"# Shows it.\n# input: {}\n":                   `program p: the line behind the input {} must say what it gives, or how it fails`,
		"# Shows it.\n# gives: 1\n# input: {}\n":       `program p: an input must stand before "gives"`,
		"# Shows it.\n# input: {}\n# fails: {\"type\n": `program p: fails: unexpected end of JSON input`,
	} {
		if _, err := readProgram("p", source); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", source, err, want)
		}
	}
}
