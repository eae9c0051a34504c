package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"pulley/engine/graph"
	"pulley/scenarios/wfformat"
)

// Job is a task of a workflow whose shape and times are known beforehand.
type Job struct {
	Time    time.Duration // not negative
	Parents []int         // indices of jobs that must end before; no duplicates, no cycle
	Name    string        // for people; empty: t and its number, from t1
}

// Bounds bound the makespan of any greedy schedule, if only tasks take time. With C the critical path, W the work and m the
// workers:
//
//	Lower = max(C, W/m)              no schedule is shorter
//	Upper = W/m + (1 - 1/m) · C      no schedule is longer that leaves no worker idle beside a ready task (Graham, 1966)
//
// So a greedy schedule takes at most 2 - 1/m times as long as the best one.
type Bounds struct {
	CriticalPath time.Duration // the longest sum of times along a path
	Work         time.Duration // the sum of all times
	Lower, Upper time.Duration // each rounded by less than 1 ns, so that it stays a bound
}

// Bound computes the bounds for instances of a workflow that start together.
func Bound(jobs []Job, instances, workers int) (Bounds, error) {
	if instances < 1 {
		return Bounds{}, fmt.Errorf("sim: bounds for %d instances; give at least one", instances)
	}
	finish, err := finishTimes(jobs)
	if err != nil {
		return Bounds{}, err
	}
	load := Load{CriticalPath: slices.Max(append(finish, 0))}
	for _, j := range jobs {
		if load.Work += j.Time; load.Work < 0 || load.Work > longest/time.Duration(instances) {
			return Bounds{}, errTooLong
		}
	}
	c := load.CriticalPath
	return boundsOf(c, load.Work*time.Duration(instances), c, c-c/time.Duration(max(workers, 1)), workers)
}

// Load is an instance's part in the bounds.
type Load struct {
	Arrived      time.Duration
	CriticalPath time.Duration // its duration with enough workers
	Work         time.Duration
	Pauses       bool // the critical path may contain pauses without work: sleeps, waits before a retry
}

var errTooLong = errors.New("sim: the work of all jobs is over a hundred years; scale it down")

// BoundLoads computes the bounds for instances that may differ and arrive at any time. The makespan counts from time zero. With
// rᵢ the arrivals, Cᵢ the critical paths, W the work of all and m the workers:
//
//	Lower = max(rᵢ + Cᵢ, W/m)
//	Upper = W/m + max(rᵢ + (1 - 1/m) · Cᵢ)
//
// For Upper, follow the critical chain back from the instance that ends last. At any earlier time either all workers are busy; or
// a job of the chain runs, so that at most m - 1 are idle; or the instance has not arrived. In a pause of the chain all m may be
// idle, so Cᵢ counts whole.
func BoundLoads(loads []Load, workers int) (Bounds, error) {
	var path, work, lower, upper time.Duration
	m := time.Duration(max(workers, 1))
	for _, l := range loads {
		path = max(path, l.CriticalPath)
		if work += l.Work; work < 0 || work > longest {
			return Bounds{}, errTooLong
		}
		lower = max(lower, l.Arrived+l.CriticalPath)
		late := l.Arrived + l.CriticalPath
		if !l.Pauses {
			late -= l.CriticalPath / m
		}
		upper = max(upper, late)
	}
	return boundsOf(path, work, lower, upper, workers)
}

// boundsOf adds the area bound: the time that all workers need if none is ever idle.
func boundsOf(path, work, lower, upper time.Duration, workers int) (Bounds, error) {
	if workers < 1 {
		return Bounds{}, fmt.Errorf("sim: bounds for %d workers; give at least one", workers)
	}
	m := time.Duration(workers)
	area := (work + m - 1) / m
	return Bounds{CriticalPath: path, Work: work, Lower: max(lower, area), Upper: area + upper}, nil
}

// finishTimes returns when each job ends with enough workers.
func finishTimes(jobs []Job) ([]time.Duration, error) {
	for i, j := range jobs {
		if j.Time < 0 || j.Time > longest {
			return nil, fmt.Errorf("sim: job %d takes %v; give a time from zero to a hundred years", i, j.Time)
		}
	}
	order, err := jobOrder(jobs)
	if err != nil {
		return nil, err
	}
	finish := make([]time.Duration, len(jobs))
	return finish, follow(jobs, order, func(job int) time.Duration { return jobs[job].Time }, finish)
}

// follow fills in when each job ends with enough workers. takes gives the jobs' times.
func follow(jobs []Job, order []int32, takes func(job int) time.Duration, finish []time.Duration) error {
	for _, i := range order {
		var ready time.Duration
		for _, p := range jobs[i].Parents {
			ready = max(ready, finish[p])
		}
		if finish[i] = ready + takes(int(i)); finish[i] > longest {
			return errors.New("sim: the critical path is over a hundred years; scale the jobs down")
		}
	}
	return nil
}

// jobOrder returns a topological order of the jobs.
func jobOrder(jobs []Job) ([]int32, error) {
	if len(jobs) >= math.MaxInt32 {
		return nil, fmt.Errorf("sim: %d jobs; give at most two thousand million", len(jobs))
	}
	first := make([]int32, len(jobs)+1) // where each job's children begin in kids
	waits := make([]int32, len(jobs))
	edges := 0
	for i, j := range jobs {
		for _, p := range j.Parents {
			if p < 0 || p >= len(jobs) {
				return nil, fmt.Errorf("sim: job %d has parent %d of %d", i, p, len(jobs))
			}
			first[p+1]++
		}
		waits[i] = int32(len(j.Parents))
		if edges += len(j.Parents); edges > math.MaxInt32 {
			return nil, errors.New("sim: the jobs have over two thousand million edges")
		}
	}
	kids := make([]int32, edges)
	for i := range jobs {
		first[i+1] += first[i]
	}
	at := slices.Clone(first)
	order := make([]int32, 0, len(jobs))
	for i, j := range jobs {
		for _, p := range j.Parents {
			kids[at[p]] = int32(i)
			at[p]++
		}
		if len(j.Parents) == 0 {
			order = append(order, int32(i))
		}
	}
	for next := 0; next < len(order); next++ {
		for _, kid := range kids[first[order[next]]:first[order[next]+1]] {
			if waits[kid]--; waits[kid] == 0 {
				order = append(order, kid)
			}
		}
	}
	if len(order) < len(jobs) {
		return nil, fmt.Errorf("sim: %d of %d jobs wait for each other in a cycle", len(jobs)-len(order), len(jobs))
	}
	return order, nil
}

// TraceJobs returns the tasks of a trace, with the scaled times that its graph has them wait.
func TraceJobs(t *wfformat.Trace, timeScale float64) []Job {
	jobs := make([]Job, len(t.Tasks))
	for i, task := range t.Tasks {
		jobs[i] = Job{Time: wfformat.TaskArgs{Seconds: task.RuntimeSeconds * timeScale}.Wait(), Parents: task.Parents}
	}
	return jobs
}

// GraphJobs returns a workflow's actions in the order of its nodes, with the times that takes gives. It refuses a workflow whose
// shape depends on values (a branch, a loop, a spread) or that has soft edges, and names the node.
func GraphJobs(g *graph.Graph, takes func(*graph.Node) time.Duration) ([]Job, error) {
	var jobs []Job
	place := map[graph.NodeID]int{} // index of an action's job
	for _, n := range g.Nodes {
		if n.Depth > 0 || n.Kind == graph.Branch || n.Kind == graph.Spread || n.Kind == graph.LoopInit {
			return nil, fmt.Errorf("sim: node %s: what runs depends on values, so there are no bounds beforehand", n.Name)
		}
		if n.Kind == graph.Action {
			place[n.ID] = len(jobs)
			jobs = append(jobs, Job{Time: takes(n)})
		}
	}
	for _, n := range g.Nodes {
		i, ok := place[n.ID]
		if !ok {
			continue
		}
		var err error
		if jobs[i].Parents, err = actionsBefore(g, n.ID, place); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// actionsBefore finds the actions from which a path without another action leads to a node.
func actionsBefore(g *graph.Graph, to graph.NodeID, place map[graph.NodeID]int) ([]int, error) {
	var found []int
	seen := map[graph.NodeID]bool{to: true}
	for queue := []graph.NodeID{to}; len(queue) > 0; queue = queue[1:] {
		for _, e := range g.In(queue[0]) {
			if e.Kind != graph.Forward {
				return nil, fmt.Errorf("sim: node %s: a %s edge leads there, so there are no bounds beforehand", g.Nodes[queue[0]].Name, e.Kind)
			}
			if seen[e.From] {
				continue
			}
			seen[e.From] = true
			if i, ok := place[e.From]; ok {
				found = append(found, i)
			} else {
				queue = append(queue, e.From)
			}
		}
	}
	return found, nil
}
