package sim_test

import (
	"encoding/json"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/internal/depth"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/sim"
)

// everything is a program with loops, limited spreads, growing lists, sleeps, and errors that cancel siblings.
func everything(t *testing.T) scenarios.Workload {
	t.Helper()
	w := compiled(t, `
fn step(input: [i], output: [x]):
    x = "none"
    sleep i
    if i == 1:
        x = @double(value=i)
        return x
    try:
        x = parallel:
            @double(value=i)
            @fail(type="Bad", message="no")
            @flaky(times=9) [retry: 9, backoff: 10s]
    except Bad as e:
        x = @echo(value=[i, e["type"]])

fn main(input: [], output: [r]):
    r = []
    for i in [0, 1, 2, 3]:
        x = step(i=i)
        ys = spread range(i):k limit 2 -> step(i=k)
        r = r + [[x, ys]]
    r = @echo(value=r)
    sleep 3600
`)
	w.Expected = json.RawMessage(`[[[0,"Bad"],[]],[2,[[0,"Bad"]]],[[2,"Bad"],[[0,"Bad"],2]],[[3,"Bad"],[[0,"Bad"],2,[2,"Bad"]]]]`)
	return w
}

// TestLanguage crashes and freezes engines within that program. It checks that an hour of sleep takes an hour of virtual time and
// no extra events.
func TestLanguage(t *testing.T) {
	calm := twice(t, sim.Config{Workload: everything(t), Act: act(t), Record: true, CheckEach: true})
	if calm.Makespan < time.Hour || calm.Makespan > time.Hour+time.Minute {
		t.Errorf("the makespan is %v; the program sleeps for an hour and some seconds", calm.Makespan)
	}
	for seed := range depth.Of[uint64](2, 16) {
		for _, kind := range []sim.FaultKind{sim.Crash, sim.Freeze} {
			cfg := faulty(t, seed, everything(t), kind)
			cfg.Dispatch.Poll, cfg.Dispatch.Sweep = 10*time.Second, time.Hour // polls during an hour are events, too
			r := twice(t, cfg)
			if r.Makespan < time.Hour {
				t.Errorf("seed %d: the makespan is %v; nobody can sleep faster", seed, r.Makespan)
			}
		}
	}
}

// TestCancels cancels instances before they run, while they work, while they sleep, twice, and after their end. It checks that
// the others continue.
func TestCancels(t *testing.T) {
	cfg := sim.Config{
		Workload: everything(t), Instances: 6, Engines: 2, Workers: 2, Act: act(t), Record: true, CheckEach: true,
		Latency: dist.Uniform(0, 20*time.Millisecond), Service: sim.Each(dist.Exponential(200 * time.Millisecond)),
		Cancels: []sim.Cancel{{Instance: 0}, {Instance: 1, At: time.Second}, {Instance: 2, At: 30 * time.Minute},
			{Instance: 2, At: 31 * time.Minute}, {Instance: 3, At: 61 * time.Minute}},
	}
	for seed := range depth.Of[uint64](1, 24) {
		cfg.Seed = seed
		r := twice(t, cfg)
		for i, want := range []backend.Status{backend.Canceled, backend.Canceled, backend.Canceled, backend.Completed, backend.Completed, backend.Completed} {
			if got := r.Instances[i]; got.Status != want || want == backend.Canceled && got.Failure.Type != backend.CanceledType {
				t.Errorf("seed %d: instance %d is %s (%v); want it %s", seed, i, got.Status, got.Failure, want)
			}
		}
	}
}
