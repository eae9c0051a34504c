package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
)

// JobAction is the action of every job, for Service.
const JobAction = "job"

// counted is a store for graphs of jobs that counts readiness in arrays. A job is a node run without a path; its node is the
// job's index. While nothing fails, it keeps the contract of backend.Backend: leases do not expire and every completion succeeds.
// It orders node runs as the in-memory store does, by when they became ready, so both give the same schedule.
type counted struct {
	w     *world
	waits []int32 // number of parents of each job
	roots []int32
	first []int32 // where a job's children begin in kids; one entry more than jobs
	kids  []int32

	instances map[uuid.UUID]*countedInstance
	shards    []countedShard
	token     int64
}

type countedInstance struct {
	id        uuid.UUID
	shard     *countedShard
	remaining int
	waits     []int32 // number of parents that have not ended
}

// countedShard is the queue of ready node runs, in order, and the held leases.
type countedShard struct {
	ready []countedRun
	head  int // index of the first that is not leased
	held  map[backend.Lease]bool
}

func (s *countedShard) len() int { return len(s.ready) - s.head }

func (s *countedShard) push(r countedRun) {
	if s.head > 0 && len(s.ready) == cap(s.ready) {
		s.ready = s.ready[:copy(s.ready, s.ready[s.head:])]
		s.head = 0
	}
	s.ready = append(s.ready, r)
}

func (s *countedShard) pop() countedRun {
	r := s.ready[s.head]
	s.head++
	return r
}

type countedRun struct {
	inst *countedInstance
	job  int32
}

func newCounted(w *world, jobs []Job) (*counted, error) {
	if _, err := finishTimes(jobs); err != nil {
		return nil, err
	}
	edges := 0
	for _, j := range jobs {
		edges += len(j.Parents)
	}
	c := &counted{
		w: w, waits: make([]int32, len(jobs)), first: make([]int32, len(jobs)+1), kids: make([]int32, edges),
		instances: map[uuid.UUID]*countedInstance{}, shards: make([]countedShard, w.cfg.Shards),
	}
	for i, j := range jobs {
		if c.waits[i] = int32(len(j.Parents)); len(j.Parents) == 0 {
			c.roots = append(c.roots, int32(i))
		}
		for _, p := range j.Parents {
			c.first[p+1]++
		}
	}
	for i := range jobs {
		c.first[i+1] += c.first[i]
	}
	filled := make([]int32, len(jobs))
	for i, j := range jobs {
		for _, p := range j.Parents {
			c.kids[c.first[p]+filled[p]] = int32(i)
			filled[p]++
		}
	}
	for i := range c.shards {
		c.shards[i].held = map[backend.Lease]bool{}
	}
	return c, nil
}

func (c *counted) Shards() int { return len(c.shards) }
func (c *counted) Close()      {}

func (c *counted) Submit(_ context.Context, subs []backend.Submission, grant backend.Grant) (out backend.Committed, err error) {
	touched := make([]bool, len(c.shards))
	var fresh []countedRun
	for _, sub := range subs {
		if c.instances[sub.ID] != nil {
			out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Duplicate})
			continue
		}
		shard := backend.ShardOf(sub.ID, len(c.shards))
		touched[shard] = true
		inst := &countedInstance{id: sub.ID, shard: &c.shards[shard], remaining: len(c.waits), waits: slices.Clone(c.waits)}
		c.instances[sub.ID] = inst
		out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Applied})
		for _, job := range c.roots {
			fresh = append(fresh, c.enqueue(inst, job))
		}
	}
	c.hand(fresh, grant, &out)
	for i := range c.shards {
		out.More = out.More || touched[i] && c.shards[i].len() > 0
	}
	return out, nil
}

func (c *counted) Claim(_ context.Context, shard int, grant backend.Grant) (out backend.Committed, err error) {
	s := &c.shards[shard]
	for len(out.Tasks) < grant.Max && s.len() > 0 {
		out.Tasks = append(out.Tasks, c.lease(s.pop(), grant))
	}
	out.More = s.len() > 0
	return out, nil
}

// Complete counts arrivals at the children of each job. A lease that is not held is stale, as in every store.
func (c *counted) Complete(_ context.Context, shard int, done []backend.Completion, grant backend.Grant) (out backend.Committed, err error) {
	s := &c.shards[shard]
	var fresh []countedRun
	for _, d := range done {
		if !s.held[d.Lease] {
			out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Stale})
			continue
		}
		delete(s.held, d.Lease)
		out.Outcomes = append(out.Outcomes, backend.Outcome{Answer: backend.Applied})
		inst, job := c.instances[d.Lease.Key.Instance], d.Lease.Key.Run.Node
		kids := c.kids[c.first[job]:c.first[job+1]]
		for _, single := range []bool{true, false} { // a job with one parent needs no counter, and the core enqueues such jobs first
			for _, kid := range kids {
				if single != (c.waits[kid] == 1) {
					continue
				}
				if inst.waits[kid]--; inst.waits[kid] == 0 {
					fresh = append(fresh, c.enqueue(inst, kid))
				}
			}
		}
		if inst.remaining--; inst.remaining == 0 {
			inst.waits = nil
			out.Ended = append(out.Ended, inst.public())
		}
	}
	c.hand(fresh, grant, &out)
	out.More = s.len() > 0
	return out, nil
}

func (c *counted) enqueue(inst *countedInstance, job int32) countedRun {
	r := countedRun{inst, job}
	c.w.becomes(r.key(), c.w.now)
	return r
}

// hand leases what a call made ready, up to the grant, and queues the rest.
func (c *counted) hand(fresh []countedRun, grant backend.Grant, out *backend.Committed) {
	for i, r := range fresh {
		if i < grant.Max {
			out.Tasks = append(out.Tasks, c.lease(r, grant))
			continue
		}
		r.inst.shard.push(r)
	}
}

func (c *counted) lease(r countedRun, grant backend.Grant) backend.Task {
	c.token++
	t := backend.Task{
		Lease:  backend.Lease{Key: r.key(), Token: c.token},
		Action: JobAction, Args: json.RawMessage("{}"), Attempt: 1, Expires: c.w.clock().Add(grant.Lease),
	}
	r.inst.shard.held[t.Lease] = true
	return t
}

func (c *counted) Renew(_ context.Context, shard int, leases []backend.Lease, _ backend.Grant) ([]bool, error) {
	kept := make([]bool, len(leases))
	for i, l := range leases {
		kept[i] = c.shards[shard].held[l]
	}
	return kept, nil
}

// Sweep finds nothing: an ended instance leaves nothing behind.
func (c *counted) Sweep(context.Context, int) (backend.Swept, error) { return backend.Swept{}, nil }

func (c *counted) Lookup(_ context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	for i, id := range ids {
		if out[i].ID = id; c.instances[id] != nil {
			out[i] = c.instances[id].public()
		}
	}
	return out, nil
}

func (c *counted) Cancel(context.Context, []uuid.UUID, string) ([]backend.Instance, error) {
	return nil, errors.New("sim: jobs are not canceled")
}

// Leftovers counts what is queued or leased once every instance has ended.
func (c *counted) Leftovers(context.Context) (map[string]int, error) {
	left := map[string]int{}
	for i := range c.shards {
		left["queued"] += c.shards[i].len()
		left["leased"] += len(c.shards[i].held)
	}
	return left, nil
}

func (c *counted) Check() error {
	for id, inst := range c.instances {
		for job, n := range inst.waits {
			if n < 0 {
				return fmt.Errorf("I2: job %d of instance %s has %d arrivals too many", job, id, -n)
			}
		}
	}
	return nil
}

func (r countedRun) key() backend.Key {
	return backend.Key{Instance: r.inst.id, Run: graph.Run{Node: graph.NodeID(r.job)}}
}

func (c *countedInstance) public() backend.Instance {
	status := backend.Running
	if c.remaining == 0 {
		status = backend.Completed
	}
	return backend.Instance{ID: c.id, Status: status}
}

func (w *world) nodeName(inst *instance, id graph.NodeID) string {
	if inst.program != nil {
		return inst.program.Graph().Nodes[id].Name
	}
	if name := w.cfg.Jobs[id].Name; name != "" {
		return name
	}
	return "t" + strconv.Itoa(int(id)+1)
}

func (w *world) runName(inst *instance, run graph.Run) string {
	if inst.program != nil {
		return inst.program.RunName(run)
	}
	return w.nodeName(inst, run.Node)
}
