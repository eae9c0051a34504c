package sim

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/scenarios"
)

// Result is the outcome of a simulated run. Times are virtual and count from the start of the world, which is the arrival of the
// first instance.
type Result struct {
	Seed   uint64
	Hash   string // SHA-256 of the trace, in hexadecimal
	Events int

	// Makespan is when the last instance's end was committed.
	Makespan time.Duration

	// Utilisation is the busy part of all workers' time until Makespan, from 0 to 1; zero if Makespan is. It includes attempts
	// whose result was of no use.
	Utilisation float64

	// Waiting is the time of each attempt from being ready to its first start. A delivery after a lost lease does not count.
	Waiting Percentiles
	// Latency is the time of each instance from arrival to end.
	Latency Percentiles

	// InSystem is the mean number of instances present over Makespan; InQueue is the mean number of attempts that waited and
	// could have started. Both are counted over time, not computed from Latency and Waiting. The world checks them against these
	// by Little's law, exactly.
	InSystem, InQueue float64

	Schedule  []*Attempt  // in the order of their ends
	Instances []*Instance // in the order of their arrivals
	Calls     map[dispatch.Op]int
	Problems  int // reported by engines: failed calls, lost leases
	Faults    int // of Config.Faults, applied before the work was done

	// Violations has a line for each invariant that did not hold and each unexpected result; only the first hundred of
	// ViolationsTotal. A run is right only if it is empty.
	Violations      []string
	ViolationsTotal int

	// History is what the oracles read; nil without Config.Record.
	History oracle.History

	mix       *scenarios.Mix
	act       Act
	waits     []time.Duration
	latencies []time.Duration
}

// Fate is the outcome of an attempt.
type Fate string

// The fates.
const (
	Applied    Fate = "applied"    // its completion counts
	Stale      Fate = "stale"      // another attempt's counts, or the instance had ended
	Refused    Fate = "refused"    // the store refused its result, and a failure replaced it
	Lost       Fate = "lost"       // its engine died or lost the lease while it ran
	Dropped    Fate = "dropped"    // its instance ended while it ran
	Unanswered Fate = "unanswered" // its completion never reached the store
)

// Attempt is one line of the schedule.
type Attempt struct {
	Instance   int // by arrival, from 0
	Node       string
	Path       graph.Path
	Attempt    int           // from 1
	Engine     int           // from 0
	Worker     int           // of the engine, from 0
	Ready      time.Duration // since when it could have started; for a delivery after a lost lease, its start
	Start, End time.Duration
	Fate       Fate
}

// Instance is a simulated instance.
type Instance struct {
	ID      uuid.UUID
	Arrived time.Duration
	Ended   time.Duration
	Status  backend.Status
	Result  json.RawMessage // if completed
	Failure *plan.Failure   // if failed
}

// Percentiles summarise durations by nearest rank: the p-th of n sorted ones is number ⌈p·n/100⌉. All are zero if Count is.
type Percentiles struct {
	Count                    int
	Mean, P50, P90, P99, Max time.Duration
}

func percentiles(d []time.Duration) Percentiles {
	n := len(d)
	if n == 0 {
		return Percentiles{}
	}
	d = slices.Sorted(slices.Values(d))
	rank := func(p int) time.Duration { return d[(p*n+99)/100-1] }
	mean := 0.0
	for _, v := range d {
		mean += float64(v) / float64(n)
	}
	return Percentiles{Count: n, Mean: time.Duration(mean), P50: rank(50), P90: rank(90), P99: rank(99), Max: d[n-1]}
}

func (r *Result) count(op dispatch.Op) {
	if r.Calls == nil {
		r.Calls = map[dispatch.Op]int{}
	}
	r.Calls[op]++
}

// Judge checks the history against the numbered invariants, or against all that have oracles. It needs Config.Record. If the
// workload has a source, the reference interpreter determines the right calls and ends (I4, I7); it calls Config.Act for that.
func (r *Result) Judge(invariants ...string) (oracle.Report, error) {
	if r.History == nil {
		return nil, fmt.Errorf("sim: there is no history to judge; set Config.Record")
	}
	of := map[string]int{}
	for i, inst := range r.Instances {
		of[inst.ID.String()] = r.mix.Order[i%len(r.mix.Order)]
	}
	possible := make([][]reference.Outcome, len(r.mix.Workloads))
	for i := range possible {
		var err error
		if possible[i], err = outcomes(&r.mix.Workloads[i], r.act); err != nil {
			return nil, err
		}
	}
	return oracle.Check(r.History, oracle.Rules{
		Invariants:  invariants,
		Graph:       func(instance string) *graph.Graph { return r.mix.Workloads[of[instance]].Graph },
		Outcomes:    func(instance string) []reference.Outcome { return possible[of[instance]] },
		CommitOrder: true,
	})
}

func (w *world) finish() (*Result, error) {
	r := &w.result
	r.Seed, r.Events, r.mix, r.act = w.cfg.Seed, w.events, w.cfg.Mix, w.cfg.Act
	if err := w.inspect(); err != nil {
		return nil, fmt.Errorf("sim: seed %d: after the run: %w", w.cfg.Seed, err)
	}
	w.checkStore()
	w.little()
	var busy float64
	for _, a := range r.Schedule {
		busy += float64(max(0, min(a.End, r.Makespan)-a.Start))
	}
	if r.Makespan > 0 {
		r.Utilisation = busy / (float64(w.cfg.Engines) * float64(w.cfg.Workers) * float64(r.Makespan))
	}
	if r.Makespan > 0 {
		r.InSystem, r.InQueue = w.present.area.dividedBy(r.Makespan), w.waiting.area.dividedBy(r.Makespan)
	}
	r.Waiting, r.Latency = percentiles(r.waits), percentiles(r.latencies)
	if !w.cfg.Quiet {
		r.Hash = hex.EncodeToString(w.hash.Sum(nil))
	}
	return r, nil
}

func (w *world) inspect() error {
	ctx := context.Background()
	for shard := range w.cfg.Shards {
		for more := true; more; {
			swept, err := w.store.Sweep(ctx, shard)
			if err != nil {
				return err
			}
			more = swept.More
		}
	}
	ids := make([]uuid.UUID, len(w.instances))
	for i, inst := range w.instances {
		ids[i] = inst.id
	}
	found, err := w.store.Lookup(ctx, ids)
	if err != nil {
		return err
	}
	for i, inst := range w.instances {
		w.noteLookup(inst, found[i])
	}
	rows, err := w.store.Leftovers(ctx)
	if err != nil {
		return err
	}
	for table, n := range rows {
		if n > 0 {
			w.violate("I10: %d rows are left in %s", n, table)
		}
	}
	w.record(oracle.Event{Kind: oracle.Inspected, AtNS: int64(w.now), Source: "store", Rows: rows})
	return nil
}

func (w *world) noteLookup(inst *instance, found backend.Instance) {
	w.record(w.endOf(oracle.LookedUp, inst, found))
	w.result.Instances = append(w.result.Instances, &Instance{
		ID: inst.id, Arrived: inst.arrived, Ended: inst.endedAt, Status: found.Status, Result: found.Result, Failure: found.Failure,
	})
	if inst.model != nil {
		inst.model.ended(found)
	}
	if inst.workload == nil || inst.model != nil && inst.model.canceled || timed(inst.workload.Graph) {
		return
	}
	expected := inst.workload.Expected
	switch {
	case inst.workload.Unchecked.Results:
	case expected == nil:
		if d := inst.workload.Differs(endIn(found)); d != "" {
			w.violate("instance %d %s", inst.index, d)
		}
	case found.Status != backend.Completed:
		w.violate("instance %d is %s, and should be completed with %s: %v", inst.index, found.Status, brief(expected), found.Failure)
	case string(found.Result) != string(expected):
		w.violate("instance %d has the result %s, and should have %s", inst.index, brief(found.Result), brief(expected))
	}
}

func endIn(found backend.Instance) reference.End {
	return reference.End{Status: reference.Status(found.Status), Result: found.Result, Error: errorOf(found.Failure)}
}

// WriteSchedule writes the attempts as CSV, in the order of their ends. Times are ns since the start of the world.
func (r *Result) WriteSchedule(w io.Writer) error {
	b := bufio.NewWriterSize(w, 1<<16)
	line := []byte("instance,node,path,attempt,engine,worker,ready_ns,start_ns,end_ns,fate\n")
	for _, a := range r.Schedule {
		if _, err := b.Write(line); err != nil {
			return err
		}
		line = strconv.AppendInt(line[:0], int64(a.Instance), 10)
		line = append(append(line, ','), a.Node...)
		line = append(append(append(line, ",\""...), a.Path...), "\","...)
		for _, n := range []int64{int64(a.Attempt), int64(a.Engine), int64(a.Worker), int64(a.Ready), int64(a.Start), int64(a.End)} {
			line = append(strconv.AppendInt(line, n, 10), ',')
		}
		line = append(append(line, a.Fate...), '\n')
	}
	if _, err := b.Write(line); err != nil {
		return err
	}
	return b.Flush()
}
