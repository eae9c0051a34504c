package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/internal/depth"
)

func TestTable(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range table() {
		if err := m.validate(root); err != nil {
			t.Error(err)
		}
		if seen[m.Name] {
			t.Errorf("two mutants have the name %s", m.Name)
		}
		seen[m.Name] = true
		if m.Check.Case == "" && !slices.ContainsFunc(testNames(m.Check.Run), func(name string) bool { return defined(t, root, m.Check.Package, name) }) {
			t.Errorf("mutant %s: no test of %s is named by %s", m.Name, m.Check.Package, m.Check.Run)
		}
	}
	if len(seen) < 20 {
		t.Errorf("there are %d mutants, want 20 at least", len(seen))
	}
	for _, report := range []string{
		"river-1302", "river-1258", "river-1318", "dbos-java-491", "vercel-workflow-3081", "absurd-61", "pgflow-645", "pgflow-621",
		"hatchet-2475", "hatchet-1540", "waymark-132", "waymark-149", "waymark-152", "awa-246", "multica-7389", "job-queue-benchmarking",
	} {
		if !slices.ContainsFunc(table(), func(m mutant) bool { return strings.HasPrefix(m.Name, report+"-") && m.Equivalent == "" }) {
			t.Errorf("no mutant is the bug of %s", report)
		}
	}
}

func testNames(run string) []string { return regexp.MustCompile(`Test\w+`).FindAllString(run, -1) }

func defined(t *testing.T, root, pkg, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("func "+name+"(t *testing.T)"))
	})
}

func TestValidate(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), []byte("a b a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	good := mutant{Name: "m", What: "w", Invariant: "I1", Says: "no", Edits: []edit{{"f", "b", "c"}}, Check: check{Package: "p", Run: "T"}}
	if err := good.validate(root); err != nil {
		t.Error(err)
	}
	if texts, err := good.mutated(root); err != nil || texts["f"] != "a c a\n" {
		t.Errorf("it becomes %q, %v", texts, err)
	}
	for says, corrupt := range map[string]func(*mutant){
		"stands 2 times":     func(m *mutant) { m.Edits = []edit{{"f", "a", "c"}} },
		"stands 0 times":     func(m *mutant) { m.Edits = []edit{{"f", "b", "c"}, {"f", "b", "d"}} },
		"changes nothing":    func(m *mutant) { m.Edits = []edit{{"f", "b", "b"}} },
		"no such file":       func(m *mutant) { m.Edits = []edit{{"g", "b", "c"}} },
		"an invariant":       func(m *mutant) { m.Invariant = "" },
		"a test or a chaos":  func(m *mutant) { m.Check.Case = "c.json" },
		"failing test must":  func(m *mutant) { m.Says = "" },
		"error parsing rege": func(m *mutant) { m.Says = "(" },
	} {
		m := good
		corrupt(&m)
		if err := m.validate(root); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want an error that says %q", err, says)
		}
	}
}

func TestJudge(t *testing.T) {
	test := mutant{Invariant: "I3", Says: "answered \\w+", Check: check{Package: "p", Run: "T"}}
	run := mutant{Invariant: "I8", Check: check{Case: "c.json"}}
	for _, c := range []struct {
		name string
		m    mutant
		f    finding
		end  string
		says string
	}{
		{"passes", test, finding{text: "answered applied"}, survived, ""},
		{"fails as it must", test, finding{failed: true, text: "x\n  f.go:1: answered applied, want stale\ny"}, caught, "f.go:1: answered applied, want stale"},
		{"fails in another way", test, finding{failed: true, text: "panic: no server"}, survived, ""},
		{"the invariant", run, finding{failed: true, names: []string{"I8"}, text: "fail: \nI8: gone\n"}, caught, "I8: gone"},
		{"another invariant", run, finding{failed: true, names: []string{"I9"}, text: "fail: \nI9: late\n"}, survived, ""},
		{"inconclusive", run, finding{undecided: "no load"}, survived, ""},
	} {
		end, says, why := judge(c.m, c.f)
		if end != c.end || says != c.says || (why == "") != (end == caught) {
			t.Errorf("%s: %s by %q (%s), want %s by %q", c.name, end, says, why, c.end, c.says)
		}
	}
	if got := failedTests("--- FAIL: T (0.1s)\n    --- FAIL: T/a (0.1s)\n        --- FAIL: T/a/b (0.0s)\n    --- FAIL: T/c (0.0s)\n"); !slices.Equal(got, []string{"T/a/b", "T/c"}) {
		t.Errorf("the tests that failed are %q", got)
	}
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"=== RUN   TestWords\n    --- FAIL: TestWords (0.00s)\n": "",
		"=== RUN   TestA\n    a_test.go:1: words\n":              "    a_test.go:1: words",
		"words":          "words",
		"panic: words\n": "panic: words",
		"panic: test timed out after 5m\n\tTestA/words (5m)\n":   "",
		"panic: nil\n\ngoroutine 7 [running]:\npulley.words()\n": "",
	} {
		if line, yes := firstMatch(regexp.MustCompile("words"), text); line != want || yes != (want != "") {
			t.Errorf("of %q it is %q, want %q", text, line, want)
		}
	}
}

func TestHangs(t *testing.T) {
	alive := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	held, err := os.OpenFile(alive, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }() // it was only read
	p := &planter{lingers: time.Millisecond}
	words := regexp.MustCompile("words")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := p.output(ctx, words, "", "sh", "-c", `exec 3>"$0"; sleep 600 & printf '=== RUN   TestA/b\n    some words\n'; wait`, alive)
	if err == nil || !r.ended || r.by != "TestA/b" {
		t.Errorf("it ended by %q, %v, %v; want it ended, by what TestA/b said", r.by, r.ended, err)
	}
	if err := held.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if n, err := held.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("its child continues: %v", err)
	}
	if r, err := p.output(ctx, words, "", "sh", "-c", `echo else; exit 3`); err == nil || r.ended || r.text != "else\n" {
		t.Errorf("it says %q and ended by %v, %v; want it to end by itself", r.text, r.ended, err)
	}
}

var small = mutant{
	Name: "small", What: "tests go deep unless they are to", Invariant: "I6",
	Edits: []edit{{"internal/depth/depth.go", `os.Getenv(Variable) == "night"`, `os.Getenv(Variable) != "night"`}},
	Check: check{Package: "internal/depth", Run: "^TestVariableChoosesTheSize$"}, Says: "without the variable, tests go deep",
}

func spoilable(t *testing.T, root string) (m mutant, file, passage string) {
	t.Helper()
	if !depth.Night() {
		return small, "internal/depth/depth.go", "package depth\n\nimport"
	}
	chosen, err := choose(table(), root, "^aggregate-in-order-of-arrival$", "")
	if err != nil || len(chosen) != 1 {
		t.Fatalf("%d mutants, %v", len(chosen), err)
	}
	return chosen[0], "engine/backend/memory/store.go", "package memory"
}

// TestHandful plants four mutants: a bug that needs no server (at night one of the engine's), one that changes nothing, one
// that does not build, and one whose words the sound code prints too. The second survives; the last two are broken.
func TestHandful(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	bug, file, passage := spoilable(t, root)
	none := bug
	none.Name, none.Edits = "none", []edit{{file, passage, "// A remark.\n" + passage}}
	unbuildable := none
	unbuildable.Name, unbuildable.Edits = "unbuildable", []edit{{file, passage, "." + passage}}
	loose := bug
	loose.Name, loose.Says = "loose", "^PASS"
	var told bytes.Buffer
	done, err := plantAll(t.Context(), root, []mutant{unbuildable, loose, bug, none}, options{jobs: 1, race: raced, start: 2}, &told)
	if err != nil || done.Next != 2 || done.Of != 4 {
		t.Fatalf("the next is %d of %d, %v; want 2 of 4", done.Next, done.Of, err)
	}
	outcomes := done.Mutants
	for i, want := range []string{caught, survived, broken, broken} {
		if o := outcomes[i]; o.Outcome != want || o.Tier != tierTest {
			t.Errorf("%s: %s, want %s: %s", o.Mutant, o.Outcome, want, o.Why)
		}
	}
	if a, b, c := status(outcomes[:1]), status(outcomes[:2]), status(outcomes); a != 0 || b != exitSurvived || c != exitMistake {
		t.Errorf("the exit statuses are %d, %d, %d", a, b, c)
	}
	var text bytes.Buffer
	if err := write(&text, done, "text"); err != nil || !strings.Contains(text.String(), "4 mutants: 1 caught, 1 survived, 0 equivalent, 2 broken") {
		t.Errorf("it prints %v:\n%s", err, text.String())
	}
}

// TestTimeIsOver checks a run whose time is over before the first mutant, and an interrupted run. Both report where to
// continue, only the first without an error.
func TestTimeIsOver(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	same := []mutant{{Name: "none", Equivalent: "it is none"}, small, small}
	over, err := plantAll(t.Context(), root, same, options{jobs: 1, start: 7, most: time.Nanosecond}, io.Discard)
	if err != nil || len(over.Mutants) != 0 || over.Next != 1 || over.Of != 3 {
		t.Errorf("%+v, %v; want nothing planted, and to continue with 1 of 3", over, err)
	}
	var text bytes.Buffer
	if err := write(&text, over, "text"); err != nil || !strings.Contains(text.String(), "3 of 3 were left; --start 1 continues") {
		t.Errorf("it prints %v:\n%s", err, text.String())
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if done, err := plantAll(ctx, root, same, options{jobs: 1, start: 2}, io.Discard); !errors.Is(err, context.Canceled) || done.Next != 2 {
		t.Errorf("interrupted, it is %+v, %v", done, err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are left", left, err)
	}
}

func TestSearches(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := choose(table(), root, "^value-not-written$", "")
	if err != nil || len(chosen) != 1 || len(chosen[0].Sim) != 2 {
		t.Fatalf("%d mutants, %v", len(chosen), err)
	}
	found := chosen[0]
	found.Sim = []search{found.Sim[0], {"push", "I13"}}
	rows := searched(t, root, found)
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, want := range []string{caught, survived} {
		if rows[i].Outcome != want || len(rows[i].Took) != 2 || rows[i].Median == 0 {
			t.Errorf("%+v, want it %s", rows[i], want)
		}
	}
	var text bytes.Buffer
	if code, err := writeSearches(&text, rows, "text"); err != nil || code != exitSurvived || !strings.Contains(text.String(), `which is not one of "I13"`) {
		t.Errorf("the exit status is %d, %v:\n%s", code, err, text.String())
	}
	if code, err := writeSearches(&text, append(rows, simRow{Outcome: broken}), "json"); err != nil || code != exitMistake {
		t.Errorf("the exit status is %d, %v", code, err)
	}
	none := simRow{Took: []uint64{7}, By: map[string]int{"I9": 1}}
	if none.judge(search{"push", "I9"}, 2); none.Outcome != survived || !strings.Contains(none.Why, "1 of 2 searches") {
		t.Errorf("%+v", none)
	}
}

// searched returns the searches of a program that prints as the simulation would, and at night of the simulation.
func searched(t *testing.T, root string, m mutant) []simRow {
	t.Helper()
	if depth.Night() {
		rows, err := searchAll(t.Context(), root, []mutant{m, {Name: "without"}}, options{jobs: 1, sim: 2}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "pulley")
	const says = `#!/bin/sh
[ "$1 $2 $4 $5" = "sim --backends --runs 2" ] || exit 2
echo '[{"median": 7, "took": [5, 7], "by": {"I7": 2}}]'
exit 1
`
	if err := os.WriteFile(program, []byte(says), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &planter{root: root, dir: dir}
	var rows []simRow
	for _, s := range m.Sim {
		row := simRow{Mutant: m.Name, Backend: s.Backend}
		if err := p.search(t.Context(), program, s, 2, &row); err != nil {
			t.Fatal(err)
		}
		row.judge(s, 2)
		rows = append(rows, row)
	}
	return rows
}

func TestCommandLine(t *testing.T) {
	for says, args := range map[string][]string{
		"it takes no arguments": {"x"},
		"write text or json":    {"--format", "xml"},
		"choose from 1 to 64":   {"--jobs", "0"},
		"choose from 1 to 1000": {"--sim", "-1"},
		"no mutant's name":      {"--only", "there-is-none"},
		"--only":                {"--only", "("},
		"in this tier":          {"--only", "river-1302", "--tier", "night"},
		"write test or night":   {"--tier", "day"},
		"not be negative":       {"--start", "-1"},
	} {
		var out, problems bytes.Buffer
		if code := run(args, &out, &problems); code != exitMistake || !strings.Contains(problems.String(), says) || strings.Count(problems.String(), "\n") != 1 {
			t.Errorf("%q: status %d, %q, want %q in one line", args, code, problems.String(), says)
		}
	}
	var out, problems bytes.Buffer
	if code := run([]string{"--list", "--only", "river-1302"}, &out, &problems); code != 0 || !strings.Contains(out.String(), "(I1, test)") || !strings.Contains(out.String(), "go test ./engine/backend/postgres/push -run") {
		t.Errorf("status %d, %s%s", code, out.String(), problems.String())
	}
	out.Reset()
	if code := run([]string{"--list", "--tier", "night"}, &out, &problems); code != 0 || strings.Contains(out.String(), "go test") || !strings.Contains(out.String(), "0 are found by tests") {
		t.Errorf("status %d, %s%s", code, out.String(), problems.String())
	}
}
