package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/chaos"
	"pulley/chaos/cases"
	"pulley/chaos/fault"
	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
)

func TestChaos(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	got := runForRaces(t, "chaos", "fanout=5", "--faults", "wire.cut,process.kill", "--seed", "7", "--duration", "0s", "--lease", "1s",
		"--in-flight", "2", "--shrink", "0", "--format", "json", "--out", dir)
	var res struct {
		Verdict    string
		Faults     map[string]int
		Violations []any
		RecoveryMS struct{ First struct{ N int } } `json:"recovery_ms"`
		Seed       uint64
	}
	if err := json.Unmarshal([]byte(got.out), &res); err != nil {
		t.Fatalf("%v: %q: %s", err, got.out, got.err)
	}
	if got.code != 0 || res.Verdict != "pass" || res.Faults["wire.cut"] != 1 || res.Faults["process.kill"] != 1 || res.Seed != 7 ||
		res.Violations == nil || len(res.Violations) != 0 || res.RecoveryMS.First.N == 0 {
		t.Errorf("exit status %d: %s", got.code, got.out)
	}
	for _, name := range []string{"case.json", "result.json", "chaos.json", "history.ndjson", "report.html"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := run(t, "chaos", "--replay", filepath.Join(dir, "case.json"), "--shrink", "0", "--out", filepath.Join(dir, "again"))
	if again.code != 0 {
		t.Errorf("exit status %d: %s", again.code, again.err)
	}
	wantParts(t, again.out, "pass: push", "process.kill", "1", "wire.cut", "1")
}

func TestChaosRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		says string
		args []string
	}{
		{"there is no fault \"wire.curt\"", []string{"--faults", "wire.curt"}},
		{"there is no scenario \"fanuot\"", []string{"fanuot"}},
		{"is no size", []string{"fanout=many"}},
		{"keeps nothing over a crash", []string{"--backend", "memory"}},
		{"without a program", []string{"diamond"}},
		{"engines is 65", []string{"--engines", "65"}},
		{"--in-flight, --every and --instances must not be negative", []string{"--in-flight=-1"}},
		{"write instances per second", []string{"--rate", "fast"}},
		{"more than the highest rate", []string{"--rate", "120%"}},
		{"no such file", []string{"--replay", "nowhere.json"}},
		{"is no case", []string{"--replay", file(t, "case.json", `{"scenario": "fanout"}`)}},
	} {
		got := call(t, nil, append([]string{"chaos", "--out", t.TempDir()}, c.args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: exit status %d, %q", c.args, got.code, got.out)
		}
		wantLine(t, got.err, c.says)
	}
}

type totals struct {
	Runs    int
	Reached map[string]int
}

func readTotals(t *testing.T, dir string) (out totals) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "totals.json"))
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// At night it reaches small goals on one backend, with a run for each set of kinds.
func TestChaosNightly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := depth.Of([]string{"--duration", "10m", "--max-duration", "1ms", "--jobs", "1"},
		[]string{"--cuts", "1", "--kills", "1", "--terminated", "1", "--crashes", "1", "--lost", "1", "--messages", "0s"})
	got := run(t, append([]string{"chaos-night", "--backends", "push", "--faults", "process.kill", "--run-duration", "0s", "--out", dir}, args...)...)
	totals := readTotals(t, dir)
	least := depth.Of(totalsOf(1, 1, 0), totalsOf(3, 1, 2))
	if got.code != 0 || totals.Runs < least.Runs || totals.Reached["kills"] < least.Reached["kills"] || totals.Reached["crashes"] < least.Reached["crashes"] {
		t.Errorf("exit status %d, %+v, want %+v at least: %s%s", got.code, totals, least, got.out, got.err)
	}
	wantParts(t, got.out, fmt.Sprintf("%[1]d runs (%[1]d pass, 0 fail", totals.Runs), "0 deadlocks")
	if next, err := readPlace(filepath.Join(dir, stateFile)); err != nil || next != depth.Of(1, 0) {
		t.Errorf("the next night begins with run %d, %v", next, err)
	}
	for _, wrong := range []string{"memory", "pish"} {
		if got := call(t, nil, "chaos-night", "--backends", wrong, "--out", dir); got.code != console.ExitUsage {
			t.Errorf("--backends %s: exit status %d", wrong, got.code)
		}
	}
}

func totalsOf(runs, kills, crashes int) totals {
	return totals{Runs: runs, Reached: map[string]int{"kills": kills, "crashes": crashes}}
}

// TestNightsContinue uses made-up times. Runs visit all schedulers, then the sets of kinds, then the seeds. A run begins only
// if it fits into the time, but for a night's first. The next night begins with what was not done.
func TestNightsContinue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := &chaosNightCmd{Faults: []string{"all"}, RunDuration: time.Minute, MaxDuration: time.Hour}
	o.Backends, o.Seed, o.Out = []string{"push", "pull:scan=sql"}, 5, dir
	night := func(left time.Duration) *rotation {
		t.Helper()
		r, err := (&nightly{chaosNightCmd: o}).rotate()
		if err != nil {
			t.Fatal(err)
		}
		r.remaining, r.since = func() time.Duration { return left }, func() time.Duration { return 0 }
		return r
	}
	wantRun := func(r *rotation, at int, folder string, length time.Duration) {
		t.Helper()
		got, one := r.nextTurn()
		if one == nil || got != at || filepath.Base(one.Out) != folder || one.Duration != length {
			t.Errorf("run %d is %+v, want run %d for %s and %v", got, one, at, folder, length)
		}
	}
	r := night(time.Hour)
	for at, folder := range []string{"push-5-1", "pull-scan-sql-5-1", "push-5-2", "pull-scan-sql-5-2", "push-5-3", "pull-scan-sql-5-3", "push-6-1", "pull-scan-sql-6-1"} {
		wantRun(r, at, folder, time.Minute)
		if at == 2 { // it is not done when the night ends
			continue
		}
		if err := r.done(at, 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	r = night(10 * time.Second)
	wantRun(r, 2, "push-5-2", 0)
	if _, one := r.nextTurn(); one != nil {
		t.Errorf("%s begins though there is no time for it", one.Out)
	}
	if err := r.done(2, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	r.remaining = func() time.Duration { return 40 * time.Second }
	wantRun(r, 3, "pull-scan-sql-5-2", 25*time.Second)
	r = night(time.Hour)
	wantRun(r, 3, "pull-scan-sql-5-2", time.Minute)
	r.since = func() time.Duration { return time.Hour }
	if _, one := r.nextTurn(); one != nil {
		t.Errorf("%s begins after --max-duration", one.Out)
	}
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("soon"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (&nightly{chaosNightCmd: o}).rotate(); err == nil || !strings.Contains(err.Error(), "remove it to begin anew") {
		t.Errorf("of a file that says nothing: %v", err)
	}
}

func TestVerdictOfANight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget time.Duration
		runs   []chaos.Verdict
		want   int
	}{
		{time.Hour, []chaos.Verdict{chaos.Pass}, 0},
		{time.Hour, []chaos.Verdict{chaos.Pass, chaos.Inconclusive}, console.ExitInconclusive},
		{time.Hour, []chaos.Verdict{chaos.Inconclusive, chaos.Fail}, console.ExitFailed},
		{time.Hour, nil, console.ExitInconclusive},
		{0, []chaos.Verdict{chaos.Pass}, console.ExitFailed},
	} {
		all := chaos.NewTotals(map[chaos.Goal]int{chaos.Cuts: 1})
		for _, v := range c.runs {
			all.Add(&chaos.Result{Backend: "push", Verdict: v})
		}
		var out bytes.Buffer
		code := 0
		err := (&chaosNightCmd{Duration: c.budget}).finish(&console.Console{Out: &out, Err: &out}, all)
		var s *console.Status
		if errors.As(err, &s) {
			code = s.Code
		}
		if code != c.want || code == 0 && err != nil {
			t.Errorf("a night of %v with %v ends with %d, %v; want %d", c.budget, c.runs, code, err, c.want)
		}
	}
}

func TestExhaustiveIsAMode(t *testing.T) {
	t.Parallel()
	read := func(change func(*chaosCmd)) (cases.Case, []string) {
		t.Helper()
		o := &chaosCmd{Faults: []string{"all"}, Duration: 30 * time.Second, MaxDuration: 7 * time.Minute, Engines: 2, Workers: 16, Lease: time.Second}
		o.Backend, o.Seed = "push", 1
		change(o)
		kase, kinds, err := o.kase()
		if err != nil {
			t.Fatal(err)
		}
		return kase, fault.Names(kinds)
	}
	every := fault.Names(fault.Every())
	kase, kinds := read(func(*chaosCmd) {})
	if kase.MessagesMS != -1 || kase.WithinMS != 30_000 || slices.ContainsFunc(every, func(k string) bool { return slices.Contains(kinds, k) }) {
		t.Errorf("by default: %d, %d, %v", kase.MessagesMS, kase.WithinMS, kinds)
	}
	kase, kinds = read(func(o *chaosCmd) { o.Exhaustive = true })
	if kase.MessagesMS != 420_000 || kase.WithinMS != 30_000 || len(kinds) != len(fault.Kinds()) {
		t.Errorf("exhaustive: %d, %d, %v", kase.MessagesMS, kase.WithinMS, kinds)
	}
	night := &chaosNightCmd{RunDuration: time.Minute}
	one := night.one("push", 1, "all")
	kase, list, err := one.kase()
	if err != nil || kase.MessagesMS != -1 || kase.WithinMS != 0 || len(list) != len(fault.Kinds()) {
		t.Errorf("at night: %v, %d, %d, %v", err, kase.MessagesMS, kase.WithinMS, fault.Names(list))
	}
	for want, args := range map[string][]string{"choose one": {"--exhaustive", "--soak"}, "must not be negative": {"--exhaustive", "--max-duration", "0s"}} {
		if got := call(t, nil, append([]string{"chaos", "--out", t.TempDir()}, args...)...); got.code != console.ExitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
