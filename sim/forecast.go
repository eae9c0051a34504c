package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// Forecast is a run without faults, with the bounds that no schedule can beat.
type Forecast struct {
	*Result

	Work    time.Duration // of all attempts
	SpeedUp float64       // Work / Makespan, the mean number of busy workers; zero if Makespan is

	// Bounds are the bounds for the work that was done, with its arrivals. Bounds.Upper is zero if no upper bound is known; so is
	// Bounds.CriticalPath if it is unknown too. Unbounded then says why.
	Bounds    Bounds
	Unbounded string
}

// Predict simulates a world and computes the bounds for its work. For graphs of jobs it computes them directly. A workload's
// shape may depend on values, so Predict simulates the same instances again with unlimited workers and without latencies. Service
// must therefore not use its generator, as with Keyed and Recorded. Faults and Cancels are refused.
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

// sameWork explains why loads differ from a run's work; empty: they do not.
func sameWork(r *Result, loads []Load) string {
	for i, work := range r.work() {
		if work != loads[i].Work {
			return fmt.Sprintf("instance %d had %v of work, and %v where there are always enough workers, so there is no critical path", i, work, loads[i].Work)
		}
	}
	return ""
}

// unlimited is a number of workers that suffices for an instance that ends early. With more attempts than workers, the work would
// differ.
const unlimited = 1 << 16

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

// loads returns each instance's part in the bounds, or the reason why there are none.
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

func (r *Result) work() []time.Duration {
	work := make([]time.Duration, len(r.Instances))
	for _, a := range r.Schedule {
		work[a.Instance] += a.End - a.Start
	}
	return work
}

// jobLoads calls Service for the times again; it returns the same ones.
func (c Config) jobLoads(r *Result) ([]Load, error) {
	service := c.withDefaults().Service
	order, err := jobOrder(c.Jobs)
	if err != nil {
		return nil, err
	}
	nobody := rand.New(rand.NewPCG(c.Seed, 0)) // Service does not draw from it
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
