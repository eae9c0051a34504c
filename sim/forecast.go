package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Forecast is a run without faults, beside what no schedule can beat.
type Forecast struct {
	*Result

	Work    time.Duration // of all attempts
	SpeedUp float64       // Work / Makespan: how many workers were at work, on an average; zero where Makespan is

	// Bounds are those of the work that was done, for whatever arrived when. Bounds.Upper is zero where no upper
	// one is known, Bounds.CriticalPath where that is not either; Unbounded says why then.
	Bounds    Bounds
	Unbounded string
}

// Predict simulates a world and works out the bounds for its work. Of graphs of jobs these are computed; of a
// workload, whose shape may depend on values, the same instances are simulated once more with as many
// workers as there is work, without latencies. For that, Service must not use its generator: what Keyed and Recorded give does
// not. Faults and Cancels are refused.
func Predict(cfg Config) (*Forecast, error) {
	if len(cfg.Faults)+len(cfg.Cancels) > 0 {
		return nil, fmt.Errorf("sim: a forecast is for a world in which nothing fails; leave out Faults and Cancels")
	}
	r, err := Run(cfg)
	if err != nil {
		return nil, err
	}
	f := &Forecast{Result: r}
	for _, a := range r.Schedule {
		f.Work += a.End - a.Start
	}
	if r.Makespan > 0 {
		f.SpeedUp = float64(f.Work) / float64(r.Makespan)
	}
	workers := max(cfg.Workers, 1) * max(cfg.Engines, 1)
	loads, why, err := cfg.loads(r)
	if err != nil {
		return nil, err
	}
	if f.Unbounded = why; why != "" {
		f.Bounds = Bounds{Work: f.Work, Lower: (f.Work + time.Duration(workers) - 1) / time.Duration(workers)}
		return f, nil
	}
	if f.Bounds, err = BoundLoads(loads, workers); err != nil {
		return nil, err
	}
	switch {
	case cfg.Latency != nil:
		f.Bounds.Upper, f.Unbounded = 0, "calls take time, so there is no upper bound"
	case cfg.Engines > 1:
		f.Bounds.Upper, f.Unbounded = 0, "an engine may be idle beside another one's queue, so there is no upper bound"
	}
	return f, nil
}

// sameWork says why loads are not those of a run, if they are not.
func sameWork(r *Result, loads []Load) string {
	for i, work := range r.work() {
		if work != loads[i].Work {
			return fmt.Sprintf("instance %d had %v of work, and %v where there are always enough workers, so there is no critical path", i, work, loads[i].Work)
		}
	}
	return ""
}

// unlimited is more workers than an instance can use that ends before it has begun most of its work. With more attempts
// than workers the work would differ.
const unlimited = 1 << 16

// nodes are those of all workloads.
func (c Config) nodes() []*graph.Node {
	mix := c.withDefaults().Mix
	var all []*graph.Node
	for i := range mix.Workloads {
		if i == 0 || mix.Workloads[i].Graph != mix.Workloads[i-1].Graph {
			all = append(all, mix.Workloads[i].Graph.Nodes...)
		}
	}
	return all
}

// loads gives each instance's part in the bounds, or why there are none.
func (c Config) loads(r *Result) ([]Load, string, error) {
	if c.closed() > 0 {
		return nil, "instances arrive when others end, so there is no critical path of all", nil
	}
	if len(c.Jobs) > 0 {
		loads, err := c.jobLoads(r)
		if err != nil {
			return nil, "", err
		}
		return loads, sameWork(r, loads), nil
	}
	pauses := false
	for _, n := range c.nodes() {
		if n.Limit > 0 {
			return nil, fmt.Sprintf("node %s runs a limited number of its elements at once, so there is no critical path", n.Name), nil
		}
		pauses = pauses || n.Kind == graph.Sleep || len(n.Retries) > 0
	}
	c.Workers, c.Engines, c.Latency = max(len(r.Schedule), unlimited), 1, nil
	c.Trace, c.Quiet, c.Record, c.CheckEach = nil, true, false, false
	free, err := Run(c)
	if err != nil {
		return nil, "", fmt.Errorf("with unlimited workers: %w", err)
	}
	loads := make([]Load, len(r.Instances))
	for i, work := range free.work() {
		loads[i] = Load{Arrived: r.Instances[i].Arrived, Work: work, Pauses: pauses}
	}
	for i, inst := range free.Instances {
		loads[i].CriticalPath = inst.Ended - inst.Arrived
	}
	return loads, sameWork(r, loads), nil
}

// work sums up the attempts of each instance.
func (r *Result) work() []time.Duration {
	work := make([]time.Duration, len(r.Instances))
	for _, a := range r.Schedule {
		work[a.Instance] += a.End - a.Start
	}
	return work
}

// jobLoads asks for the service times again, which are the same.
func (c Config) jobLoads(r *Result) ([]Load, error) {
	service := c.withDefaults().Service
	order, err := jobOrder(c.Jobs)
	if err != nil {
		return nil, err
	}
	nobody := rand.New(rand.NewPCG(c.Seed, 0)) // it is not drawn from
	finish := make([]time.Duration, len(c.Jobs))
	loads := make([]Load, len(r.Instances))
	for i, inst := range r.Instances {
		l := &loads[i]
		l.Arrived = inst.Arrived
		var wrong error
		err := follow(c.Jobs, order, func(job int) time.Duration {
			key := backend.Key{Instance: inst.ID, Run: graph.Run{Node: graph.NodeID(job)}}
			takes, err := service(nobody, backend.Task{Lease: backend.Lease{Key: key}, Action: JobAction, Attempt: 1})
			if err != nil {
				wrong = err
			}
			l.Work += takes
			return takes
		}, finish)
		if err == nil {
			err = wrong
		}
		if err != nil {
			return nil, err
		}
		l.CriticalPath = slices.Max(finish)
	}
	return loads, nil
}
