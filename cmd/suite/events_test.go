package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// recorded is go test -json's output for packages that pass with a skipped test, fail in a subtest, panic, and do not build.
const recorded = `{"Action":"start","Package":"pulley/a"}
{"Action":"run","Package":"pulley/a","Test":"TestOne"}
{"Action":"output","Package":"pulley/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"pass","Package":"pulley/a","Test":"TestOne","Elapsed":1.5}
{"Action":"run","Package":"pulley/a","Test":"TestLeft"}
{"Action":"output","Package":"pulley/a","Test":"TestLeft","Output":"    a_test.go:7: this needs Docker\n"}
{"Action":"skip","Package":"pulley/a","Test":"TestLeft","Elapsed":0}
{"Action":"output","Package":"pulley/a","Output":"coverage: 93.1% of statements\n"}
{"Action":"pass","Package":"pulley/a","Elapsed":2}
{"Action":"run","Package":"pulley/b","Test":"TestSub"}
{"Action":"output","Package":"pulley/b","Test":"TestSub","Output":"=== RUN   TestSub\n"}
{"Action":"run","Package":"pulley/b","Test":"TestSub/eager"}
{"Action":"output","Package":"pulley/b","Test":"TestSub/eager","Output":"    b_test.go:3: 1, want 2\n"}
{"Action":"output","Package":"pulley/b","Test":"TestSub/eager","Output":"--- FAIL: TestSub/eager (0.10s)\n"}
{"Action":"fail","Package":"pulley/b","Test":"TestSub/eager","Elapsed":0.1}
{"Action":"output","Package":"pulley/b","Test":"TestSub","Output":"--- FAIL: TestSub (0.10s)\n"}
{"Action":"fail","Package":"pulley/b","Test":"TestSub","Elapsed":0.1}
{"Action":"fail","Package":"pulley/b","Elapsed":0.2}
a line that is no event
{"Action":"run","Package":"pulley/c","Test":"TestPanics"}
{"Action":"output","Package":"pulley/c","Test":"TestPanics","Output":"panic: no\n"}
{"Action":"run","Package":"pulley/c","Test":"TestBeside"}
{"Action":"fail","Package":"pulley/c","Test":"TestPanics","Elapsed":0.1}
{"Action":"fail","Package":"pulley/c","Elapsed":0.3}
{"ImportPath":"pulley/d [pulley/d.test]","Action":"build-output","Output":"d_test.go:1:1: undefined: x\n"}
{"ImportPath":"pulley/d [pulley/d.test]","Action":"build-fail"}
{"Action":"start","Package":"pulley/d"}
{"Action":"output","Package":"pulley/d","Output":"FAIL\tpulley/d [build failed]\n"}
{"Action":"fail","Package":"pulley/d","Elapsed":0,"FailedBuild":"pulley/d [pulley/d.test]"}
`

func readRecorded(t *testing.T) (*tally, []string) {
	t.Helper()
	var said []string
	counted := newTally(nil)
	if err := counted.read(strings.NewReader(recorded), func(line string) { said = append(said, line) }); err != nil {
		t.Fatal(err)
	}
	return counted, said
}

func TestTallyNamesWhatFailed(t *testing.T) {
	counted, said := readRecorded(t)
	if counted.green() {
		t.Error("three packages failed, and the tally is green")
	}
	var got []string
	for _, r := range counted.failures() {
		got = append(got, r.name())
	}
	want := []string{"b TestSub/eager", "c TestPanics", "c TestBeside", "d"}
	if !slices.Equal(got, want) {
		t.Errorf("failed: %q, want %q", got, want)
	}
	if len(said) != 1 || said[0] != "a line that is no event" {
		t.Errorf("beside the events there was %q", said)
	}
	if counted.Coverage["a"] != 93.1 {
		t.Errorf("coverage %v, want 93.1 of a", counted.Coverage)
	}
	last := counted.failures()[3]
	if !strings.Contains(last.Output, "undefined: x") {
		t.Errorf("what the compiler said is not told: %q", last.Output)
	}
}

func TestTalliesMerge(t *testing.T) {
	green, red := newTally(nil), newTally(nil)
	green.addEvent(testEvent{Action: passed, Package: "pulley/a", Test: "TestA"})
	green.addEvent(testEvent{Action: passed, Package: "pulley/a"})
	red.addEvent(testEvent{Action: failed, Package: "pulley/b"})
	if green.merge(red); green.green() || len(green.Packages) != 2 || len(green.Tests) != 1 {
		t.Errorf("%+v", green)
	}
}

func TestTallyIsGreenWhenAllPassed(t *testing.T) {
	counted := newTally(nil)
	if counted.green() {
		t.Error("a tally of nothing is green")
	}
	counted.addEvent(testEvent{Action: passed, Package: "pulley/a"})
	if !counted.green() || len(counted.failures()) > 0 {
		t.Error("a tally of what passed is not green")
	}
}

func TestSummaryTellsEverything(t *testing.T) {
	counted, _ := readRecorded(t)
	var out bytes.Buffer
	printSummary(&out, counted)
	for _, want := range []string{
		"NOT GREEN: 4 packages, 1 tests passed, 4 failed, 1 left out",
		"this needs Docker:\n    a TestLeft", "b_test.go:3: 1, want 2", "again: go test -race ./b -run '^TestSub$/^eager$'",
		"undefined: x", "panic: no", "93.1 %  a", "2.0 s  a",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the summary lacks %q:\n%s", want, out.String())
		}
	}
}

func TestFlakesAreThoseThatWereNotGreenEveryTime(t *testing.T) {
	counted, _ := readRecorded(t)
	green := newTally(nil)
	green.addEvent(testEvent{Action: passed, Package: "pulley/a"})
	var flakes []flake
	var rounds []round
	for run, tl := range []*tally{green, counted, green, counted} {
		flakes = note(flakes, run+1, tl)
		rounds = append(rounds, round{Number: run + 1, Busy: busy(run + 1), Green: tl.green()})
	}
	if len(flakes) != 4 || !slices.Equal(flakes[0].Runs, []int{2, 4}) || len(flakes[0].Outputs) != 2 {
		t.Errorf("flakes: %+v", flakes)
	}
	var out bytes.Buffer
	printFlakes(&out, rounds, flakes)
	for _, want := range []string{"NOT GREEN in 2 of 4 runs: b TestSub/eager", "run 4:\n        b_test.go:3", "2 of 4 runs green (2 idle, 2 beside 2 busy loops"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, out.String())
		}
	}
}

func TestLongestBegin(t *testing.T) {
	got := longestFirst([]string{"pulley/a", "pulley/engine", "pulley/b", "pulley/chaos"}, map[string]float64{"b": 99, "a": 1})
	if want := []string{"pulley/b", "pulley/chaos", "pulley/engine", "pulley/a"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPackagesHaveBudgets(t *testing.T) {
	list := []result{{Package: "pulley/small", Seconds: 1}, {Package: "pulley/large", Seconds: 99}}
	lines := overBudget(list)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "large took 99.0 s, 99.0 % of the time") {
		t.Errorf("%q", lines)
	}
	for _, name := range singles {
		if !exists("../../" + name) {
			t.Errorf("%s is to be tested without the race detector, and there is no such package", name)
		}
	}
	for name := range budgets {
		if !exists("../../" + name) {
			t.Errorf("there is a budget for %s, and no such package", name)
		}
	}
}
