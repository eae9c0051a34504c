package sim

import (
	"errors"
	"fmt"
	"time"

	"pulley/engine/graph"
	"pulley/scenarios/wfformat"
)

// Job is a task of a workflow whose shape and times are known beforehand.
type Job struct {
	Time    time.Duration // not negative
	Parents []int         // jobs that must have ended before, by index; none twice, and no cycle
	Name    string        // for people; empty: its place, t1 being the first
}

// Bounds are what the makespan of any greedy schedule lies between, where only the tasks take time. With
// C the critical path, W the work and m the workers:
//
//	Lower = max(C, W/m)              no schedule is shorter
//	Upper = W/m + (1 - 1/m) · C      no schedule is longer that leaves no worker idle beside a ready task (Graham, 1966)
//
// So a greedy schedule takes at most 2 - 1/m times as long as the best one.
type Bounds struct {
	CriticalPath time.Duration // the longest sum of times along a path
	Work         time.Duration // the sum of all times
	Lower, Upper time.Duration // each rounded by less than a nanosecond, to the side on which it stays true
}

// Bound gives the bounds for so many instances of a workflow that start together on so many workers.
func Bound(jobs []Job, instances, workers int) (Bounds, error) {
	if instances < 1 || workers < 1 {
		return Bounds{}, fmt.Errorf("sim: bounds for %d instances on %d workers; give at least one of each", instances, workers)
	}
	finish, err := finishTimes(jobs)
	if err != nil {
		return Bounds{}, err
	}
	var b Bounds
	for i, j := range jobs {
		b.CriticalPath = max(b.CriticalPath, finish[i])
		if b.Work += j.Time; b.Work < 0 || b.Work > longest/time.Duration(instances) {
			return Bounds{}, errors.New("sim: the work of all jobs is over a hundred years; scale it down")
		}
	}
	b.Work *= time.Duration(instances)
	m := time.Duration(workers)
	area := (b.Work + m - 1) / m
	b.Lower = max(b.CriticalPath, area)
	b.Upper = area + b.CriticalPath - b.CriticalPath/m
	return b, nil
}

// finishTimes gives when each job ends where there are always enough workers.
func finishTimes(jobs []Job) ([]time.Duration, error) {
	children := make([][]int, len(jobs))
	waits := make([]int, len(jobs))
	var free []int
	for i, j := range jobs {
		if j.Time < 0 || j.Time > longest {
			return nil, fmt.Errorf("sim: job %d takes %v; give a time from zero to a hundred years", i, j.Time)
		}
		for _, p := range j.Parents {
			if p < 0 || p >= len(jobs) {
				return nil, fmt.Errorf("sim: job %d has parent %d of %d", i, p, len(jobs))
			}
			children[p] = append(children[p], i)
		}
		if waits[i] = len(j.Parents); waits[i] == 0 {
			free = append(free, i)
		}
	}
	finish := make([]time.Duration, len(jobs)) // until a job is free: the latest end of its parents so far
	ended := 0
	for ; len(free) > 0; ended++ {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		if finish[i] += jobs[i].Time; finish[i] > longest {
			return nil, errors.New("sim: the critical path is over a hundred years; scale the jobs down")
		}
		for _, c := range children[i] {
			finish[c] = max(finish[c], finish[i])
			if waits[c]--; waits[c] == 0 {
				free = append(free, c)
			}
		}
	}
	if ended < len(jobs) {
		return nil, fmt.Errorf("sim: %d of %d jobs wait for each other in a cycle", len(jobs)-ended, len(jobs))
	}
	return finish, nil
}

// TraceJobs gives the tasks of a trace, each as long as its graph has it wait at the time scale.
func TraceJobs(t *wfformat.Trace, timeScale float64) []Job {
	jobs := make([]Job, len(t.Tasks))
	for i, task := range t.Tasks {
		jobs[i] = Job{Time: wfformat.TaskArgs{Seconds: task.RuntimeSeconds * timeScale}.Wait(), Parents: task.Parents}
	}
	return jobs
}

// GraphJobs gives the actions of a workflow in the order of its nodes, each as long as the function
// says. A workflow in which what is run depends on values (a branch, a loop, a spread), or where one
// of several ways is enough (soft edges), is refused by name.
func GraphJobs(g *graph.Graph, takes func(*graph.Node) time.Duration) ([]Job, error) {
	var jobs []Job
	place := map[graph.NodeID]int{} // of an action among the jobs
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

// actionsBefore finds the actions from which a way leads to a node with no other action on it.
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
