package profile

import (
	"bytes"
	"crypto/sha256"
	"math"
	"syscall"
	"testing"
	"time"

	"github.com/google/pprof/profile"
)

func TestStageOf(t *testing.T) {
	for _, c := range []struct {
		want  Stage
		stack []string // innermost function first
	}{
		{Store, []string{"runtime.mallocgc", "slices.Grow[go.shape.[]uint8]", "pulley/engine/backend/postgres/push.(*commit).apply", "pulley/engine.(*loop).work"}},
		{Store, []string{"pulley/engine/backend.AssembleArgs", "pulley/engine.(*loop).work"}},
		{Store, []string{"runtime.memmove", "pulley/internal/pgstore.(*Array).Bytes", "pulley/engine/backend/postgres/push.(*commit).apply"}},
		{Store, []string{"runtime.mallocgc", "pulley/internal/pgstore.(*Base).Lookup", "pulley/engine.(*loop).work"}},
		{Driver, []string{"internal/runtime/syscall.Syscall6", "net.(*conn).Write", "github.com/jackc/pgx/v5/pgconn.(*Pipeline).Flush", "pulley/engine/backend/postgres/push.(*commit).apply"}},
		{Expressions, []string{"go.starlark.net/starlark.Call", "pulley/engine/expr.(*Expr).Eval", "pulley/engine/plan.(*Program).Step"}},
		{Planning, []string{"runtime.mapassign", "pulley/engine/plan.(*Program).Step", "pulley/engine/backend/memory.(*store).apply"}},
		{Dispatch, []string{"pulley/engine/dispatch.(*State).Decide", "pulley/engine.(*loop).run"}},
		{Dispatch, []string{"time.Now", "pulley/engine.(*loop).run.func1"}},
		{Workers, []string{"pulley/engine/worker/pool.(*Pool).Run", "pulley/engine.(*loop).execute"}},
		{Actions, []string{"crypto/sha256.block", "pulley/scenarios/behaviour.Hash", "pulley/engine/worker.Run"}},
		{Harness, []string{"sync.(*Mutex).Lock", "pulley/bench.(*ledger).started", "pulley/engine.(*loop).execute"}},
		{Harness, []string{"pulley/bench.keep[pulley/engine/backend.Task]"}},
		{Collection, []string{"runtime.scanobject", "runtime.gcDrain", "runtime.gcBgMarkWorker"}},
		{Collection, []string{"runtime.gcAssistAlloc", "runtime.mallocgc", "pulley/engine/plan.(*Program).Step"}},
		{Runtime, []string{"runtime.futex", "runtime.findRunnable", "runtime.schedule", "runtime.mcall"}},
		{Runtime, nil},
	} {
		if got := stageOf(c.stack); got != c.want {
			t.Errorf("%q is %s, want %s", c.stack, got, c.want)
		}
	}
	for _, s := range Stages() {
		if s.Text() == "" {
			t.Errorf("%s has no text", s)
		}
	}
}

// Samples, those of inlined functions included, must survive writing, reading and merging.
func TestShares(t *testing.T) {
	p := profileOf(map[int64][]string{3: {"pulley/engine/plan.(*Program).Step"}, 1: {"runtime.futex"}})
	both, err := Merge(p, profileOf(map[int64][]string{4: {"runtime.bgsweep"}}))
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := both.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := profile.Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*Profile{"merged": both, "written": {samples: read}} {
		if n := p.Samples(); n != 8 {
			t.Errorf("%s: %d samples, want 8", name, n)
		}
		shares := p.Shares()
		for stage, want := range map[Stage]float64{Planning: 3. / 8, Runtime: 1. / 8, Collection: 4. / 8} {
			if math.Abs(shares[stage]-want) > 1e-9 {
				t.Errorf("%s: %s has %v, want %v", name, stage, shares[stage], want)
			}
		}
	}
	if _, err := Merge(); err == nil {
		t.Error("no profile at all is merged")
	}
}

// All functions of a stack are inlined in one location.
func profileOf(stacks map[int64][]string) *Profile {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10_000_000}
	for n, stack := range stacks {
		l := &profile.Location{ID: uint64(len(p.Location) + 1)}
		for _, name := range stack {
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name}
			p.Function = append(p.Function, f)
			l.Line = append(l.Line, profile.Line{Function: f})
		}
		p.Location = append(p.Location, l)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{n, n * 10_000_000}})
	}
	return &Profile{samples: p}
}

// A function of this package, and what it calls, counts as the bench's. The race detector's work has no stack, and counts as
// the runtime's.
func TestRecording(t *testing.T) {
	r, err := Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(); err == nil {
		t.Error("two recordings are under way")
	}
	beBusy(t)
	p, err := r.End()
	if err != nil {
		t.Fatal(err)
	}
	shares := p.Shares()
	if p.Samples() < 10 || shares[Harness] < 0.1 || shares[Harness]+shares[Runtime] < 0.9 {
		t.Errorf("%d samples, %v; want them to be of this test, or of the runtime", p.Samples(), shares)
	}
	sum := 0.
	for _, s := range shares {
		sum += s
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Errorf("the shares add up to %v", sum)
	}
}

func beBusy(t *testing.T) {
	t.Helper()
	sum := sha256.Sum256(nil)
	for end := processorTime(t) + 500*time.Millisecond; processorTime(t) < end; {
		for range 10_000 {
			sum = sha256.Sum256(sum[:])
		}
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
