package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// testEvent is a line of go test -json; see "go doc test2json".
type testEvent struct {
	Time       time.Time
	Action     string
	Package    string
	ImportPath string // of what is built
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

const (
	passed  = "pass"
	failed  = "fail"
	skipped = "skip"
)

type result struct {
	Package string  `json:"package"`
	Test    string  `json:"test,omitempty"` // empty: the package as a whole
	Action  string  `json:"action"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds,omitempty"` // with children; zero: unknown
	Output  string  `json:"output,omitempty"`      // of what failed or was skipped
}

func (r result) name() string {
	if r.Test == "" {
		return short(r.Package)
	}
	return short(r.Package) + " " + r.Test
}

const modulePrefix = "pulley/" // the module's path

func short(name string) string { return strings.TrimPrefix(name, modulePrefix) }

type tally struct {
	Packages []result           `json:"packages"`
	Tests    []result           `json:"tests"`
	Coverage map[string]float64 `json:"coverage,omitempty"` // percent of statements, by package, if requested
	Wall     float64            `json:"wall_seconds"`
	CPU      float64            `json:"cpu_seconds"` // of everything: compiling, the tests, and the server

	printed func(result)                // receives each ended package
	spent   func(name string) float64   // processor time of a package's tests; nil: unknown
	output  map[string]*strings.Builder // of what has not ended
	running map[string]map[string]bool  // unended tests
	builds  map[string]*strings.Builder
}

func newTally(told func(result)) *tally {
	return &tally{
		Coverage: map[string]float64{}, printed: told,
		output: map[string]*strings.Builder{}, running: map[string]map[string]bool{}, builds: map[string]*strings.Builder{},
	}
}

// longestOutput bounds, roughly, the kept output of a test, in bytes.
const longestOutput = 1 << 20

// read reads the events of go test -json to the end. Other lines are a tool's output.
func (t *tally) read(r io.Reader, say func(string)) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e testEvent
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				say(strings.TrimRight(line, "\n"))
			} else {
				t.addEvent(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (t *tally) addEvent(e testEvent) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "run":
		if t.running[e.Package] == nil {
			t.running[e.Package] = map[string]bool{}
		}
		t.running[e.Package][e.Test] = true
	case "output":
		add(t.output, key, e.Output)
		t.cover(e)
	case "build-output":
		add(t.builds, e.ImportPath, e.Output)
	case passed, failed, skipped:
		t.end(e, key)
	}
}

func add(said map[string]*strings.Builder, who, text string) {
	b := said[who]
	if b == nil {
		b = &strings.Builder{}
		said[who] = b
	}
	if b.Len() < longestOutput {
		b.WriteString(text)
	}
}

func (t *tally) end(e testEvent, key string) {
	r := result{Package: e.Package, Test: e.Test, Action: e.Action, Seconds: e.Elapsed}
	if b := t.output[key]; b != nil {
		if e.Action != passed {
			r.Output = b.String()
		}
		delete(t.output, key)
	}
	if e.Test != "" {
		delete(t.running[e.Package], e.Test)
		t.Tests = append(t.Tests, r)
		return
	}
	if e.Action == failed {
		t.abandon(e.Package)
		r.Output += t.appendOutput(e.Package)
	}
	if t.spent != nil {
		r.CPU = t.spent(e.Package)
	}
	t.Packages = append(t.Packages, r)
	if t.printed != nil {
		t.printed(r)
	}
}

// abandon counts the unended tests of a failed package, such as after a panic.
func (t *tally) abandon(name string) {
	for _, test := range slices.Sorted(maps.Keys(t.running[name])) {
		key := name + " " + test
		r := result{Package: name, Test: test, Action: failed}
		if b := t.output[key]; b != nil {
			r.Output = b.String()
			delete(t.output, key)
		}
		t.Tests = append(t.Tests, r)
	}
	delete(t.running, name)
}

func (t *tally) appendOutput(name string) string {
	var said strings.Builder
	for who, b := range t.builds {
		if base, _, _ := strings.Cut(who, " "); base == name || strings.TrimSuffix(base, "_test") == name || strings.TrimSuffix(base, ".test") == name {
			said.WriteString(b.String())
		}
	}
	return said.String()
}

func (t *tally) cover(e testEvent) {
	var percent float64
	if _, rest, ok := strings.Cut(e.Output, "coverage: "); ok && e.Test == "" {
		if n, _ := fmt.Sscanf(rest, "%f%%", &percent); n == 1 {
			t.Coverage[short(e.Package)] = percent
		}
	}
}

func (t *tally) merge(other *tally) {
	t.Packages, t.Tests = append(t.Packages, other.Packages...), append(t.Tests, other.Tests...)
	maps.Copy(t.Coverage, other.Coverage)
}

func (t *tally) green() bool {
	return len(t.Packages) > 0 && !slices.ContainsFunc(t.Packages, func(r result) bool { return r.Action == failed })
}

// failures lists failed tests, without those that failed only by a subtest, and packages that failed without a test.
func (t *tally) failures() []result {
	var list []result
	for _, r := range t.Tests {
		if r.Action == failed && !t.partFailed(r) {
			list = append(list, r)
		}
	}
	for _, p := range t.Packages {
		if p.Action == failed && !slices.ContainsFunc(list, func(r result) bool { return r.Package == p.Package }) {
			list = append(list, p)
		}
	}
	return list
}

// partFailed reports whether only subtests failed: the test itself has no output besides test2json's.
func (t *tally) partFailed(r result) bool {
	return !speaks(r.Output) && slices.ContainsFunc(t.Tests, func(o result) bool {
		return o.Package == r.Package && o.Action == failed && strings.HasPrefix(o.Test, r.Test+"/")
	})
}

func speaks(output string) bool {
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			return true
		}
	}
	return false
}
