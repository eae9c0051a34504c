package backendtest

import (
	"fmt"
	"sync/atomic"

	"pulley/engine/backend"
	"pulley/internal/depth"
)

var driveCases = []testCase{
	{name: "drive/many instances, many hands", shards: 4, run: driveMany},
	{name: "drive/one completion a call", shards: 2, run: driveSingly},
	{name: "drive/lost workers", shards: 2, run: driveLost},
	{name: "drive/wide fan-out, two processes", run: driveWide},
	{name: "drive/mixed programs", shards: 2, run: driveMixed},
}

var mixture = Workflow{
	Name: "mixture", Input: `{"n": 4}`, Want: `[[0,3,2],[4,5,2],[12,7,2],[24,9,2]]`, Source: `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        xs = spread range(i + 1):x -> @add(a=x, b=x)
        total = @sum(values=xs)
        a, b = parallel:
            @add(a=i + 3, b=i)
            @flaky(times=1) [retry: 2, backoff: 1ms]
        row = @echo(value=[total * 2, a, b])
        r = r + [row]
`}

func driveMany(r *rig) {
	instances := depth.Of(16, 128)
	rec := r.drive(mixture, mixture.Program(r), instances, DriveConfig{
		Workers: 4, Seed: 11, Peers: []backend.Backend{r.reopen()}, Advance: r.Advance,
	})
	answered := 0
	for _, s := range rec.Steps {
		if s.Kind == Answered {
			answered++
		}
	}
	// 10 elements, 4 sums, 4 adds, 4 flaky with 2 attempts each, 4 echoes.
	if want := instances * (10 + 4 + 4 + 8 + 4); answered < want {
		r.Errorf("%d completions were offered; the workflow takes %d", answered, want)
	}
}

func driveSingly(r *rig) {
	r.drive(mixture, mixture.Program(r), depth.Of(3, 12), DriveConfig{Workers: 2, Batch: 1, Max: 1, Advance: r.Advance})
}

// driveLost drops every fifth task, like the death of its worker: it comes back when its lease has expired.
func driveLost(r *rig) {
	var n atomic.Int64
	lost := 0
	rec := r.drive(mixture, mixture.Program(r), 6, DriveConfig{
		Workers: 2, Seed: 3, Lease: shortLease, Advance: r.Advance,
		Lose: func(backend.Task) bool { return n.Add(1)%5 == 0 },
	})
	leases := map[backend.Key]map[int]int{}
	for _, s := range rec.Steps {
		if s.Kind != Leased {
			continue
		}
		if leases[s.Lease.Key] == nil {
			leases[s.Lease.Key] = map[int]int{}
		}
		if leases[s.Lease.Key][s.Attempt]++; leases[s.Lease.Key][s.Attempt] > 1 {
			lost++
		}
	}
	if lost == 0 {
		r.Error("inconclusive: no task came back from a lost worker")
	}
}

func driveWide(r *rig) {
	n := depth.Of(80, 400)
	w := Workflow{Name: "wide", Source: fan, Input: fmt.Sprintf(`{"n": %d}`, n), Want: "[" + join(n, func(i int) int { return 2 * i }) + "]"}
	r.drive(w, w.Program(r), 1, DriveConfig{
		Workers: 4, Seed: 5, Max: 16, Peers: []backend.Backend{r.reopen()}, Advance: r.Advance,
	})
}

func driveMixed(r *rig) {
	var subs []backend.Submission
	expect := map[string]Workflow{}
	for i, w := range Workflows() {
		if i%3 == 0 {
			s := submission(w.Program(r), w.Input)
			subs = append(subs, s)
			expect[s.ID.String()] = w
		}
	}
	rec, err := Drive(r.ctx, r.b, subs, DriveConfig{Workers: 3, Seed: 9, Advance: r.Advance})
	if err != nil {
		r.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		r.Fatal(err)
	}
	for id, inst := range rec.Instances {
		if err := expect[id.String()].Expect(inst); err != nil {
			r.Error(fmt.Errorf("%s: %w", expect[id.String()].Name, err))
		}
	}
	r.clean()
}
