package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pulley/bench/outline"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
	"pulley/engine/worker"
	"pulley/reports/record"
	"pulley/scenarios"
)

// walkMax bounds the completions examined per instance: a larger instance continues as it begins.
const walkMax = 5000

// outlineMax bounds the completions of an instance whose runs are counted, so that no comparison begins seconds late.
const outlineMax = 20_000

// instanceWrites derives what an instance of the case writes from the core's plans, one commit per completion. For a mix it is
// the mean.
func (c *Case) instanceWrites(ctx context.Context) (record.InstanceWrites, error) {
	l, err := newInstanceBatch(c)
	if err != nil {
		return record.InstanceWrites{}, err
	}
	var all record.InstanceWrites
	of := make([]*record.InstanceWrites, len(l.mix.Workloads))
	for _, i := range l.mix.Order {
		if of[i] == nil {
			w, err := walk(ctx, &l.mix.Workloads[i], l.programs[i], walkMax)
			if err != nil {
				return all, fmt.Errorf("%s: %w", l.mix, err)
			}
			of[i] = &w.found
		}
		all.Nodes, all.Values, all.Elements = all.Nodes+of[i].Nodes, all.Values+of[i].Values, all.Elements+of[i].Elements
		all.Raises, all.Counters = all.Raises+of[i].Raises, all.Counters+of[i].Counters
	}
	mean := func(sum int) int { return (sum + len(l.mix.Order)/2) / len(l.mix.Order) }
	all.Nodes, all.Values, all.Elements, all.Raises, all.Counters = max(mean(all.Nodes), 1), mean(all.Values), mean(all.Elements), mean(all.Raises), mean(all.Counters)
	if all.Counters == 0 {
		all.Counters = min(all.Raises, 1)
	}
	return all, nil
}

// outline is the case's graph, with how often each node runs in an instance, if an instance is not too large to try. Of a mix it is
// the first workflow's.
func (c *Case) outline(ctx context.Context) *record.Graph {
	w := &c.Workload
	if w.Graph == nil {
		return nil
	}
	var runs map[graph.NodeID]int
	if program, err := plan.Compile(w.Graph); err == nil {
		if k, err := walk(ctx, w, program, outlineMax); err == nil && k.ended {
			runs = k.runs
		}
	}
	return outline.Of(w.Graph, runs)
}

type walker struct {
	*model.Instance[struct{}]
	execute func(t backend.Task) (json.RawMessage, *plan.Failure)
	queue   []queuedRun
	wrong   error
	found   record.InstanceWrites
	ended   bool
	runs    map[graph.NodeID]int

	values   map[plan.Slot]bool // in the current commit
	appended int
	elements map[graph.Run]int
	raises   map[graph.Run]int
	counters map[graph.Run]bool // that ever remained after being raised
}

type queuedRun struct {
	plan.Enqueue
	attempt int
}

func walk(ctx context.Context, w *scenarios.Workload, program *plan.Program, most int) (*walker, error) {
	k := &walker{counters: map[graph.Run]bool{}, runs: map[graph.NodeID]int{}}
	var instant worker.Executor = w.Calls().Instant()
	k.execute = func(t backend.Task) (json.RawMessage, *plan.Failure) { return instant.Execute(ctx, t) }
	if w.Answers != nil {
		table, err := scenarios.NewTable(w.Answers)
		if err != nil {
			return k, err
		}
		k.execute = func(t backend.Task) (json.RawMessage, *plan.Failure) {
			return table.Answer(t.Action, t.Args, t.Attempt)
		}
	}
	k.Instance = model.New(program, model.Watch[struct{}]{
		Wrong:    func(invariant, format string, args ...any) { k.wrong = fmt.Errorf(invariant+": "+format, args...) },
		Enqueued: func(e *plan.Enqueue) struct{} { k.queue = append(k.queue, queuedRun{*e, 1}); return struct{}{} },
		Cancelled: func(run graph.Run, _ struct{}, _ plan.Clear) {
			k.queue = slices.DeleteFunc(k.queue, func(q queuedRun) bool { return q.Run == run })
		},
	})
	p, err := program.Start(w.Input)
	if err != nil {
		return k, err
	}
	ended, err := k.commit(p)
	for ; err == nil && !ended && k.found.Nodes < most; ended, err = k.next() {
		if ctx.Err() != nil {
			return k, ctx.Err()
		}
	}
	k.ended = ended && err == nil
	k.found.Nodes, k.found.Counters = max(k.found.Nodes, 1), len(k.counters)
	return k, err
}

func (k *walker) next() (ended bool, err error) {
	if len(k.queue) == 0 {
		return true, errors.New("nothing is queued and the instance has not ended")
	}
	q := k.queue[0]
	k.queue = k.queue[1:]
	ev := plan.Event{Run: q.Run, Attempt: q.attempt, Result: json.RawMessage("null")}
	if q.Action != "" {
		args, err := k.args(q.Args)
		if err != nil {
			return true, err
		}
		ev.Result, ev.Failure = k.execute(backend.Task{Action: q.Action, Args: args, Attempt: q.attempt})
	}
	p, err := k.Step(ev, 0.5)
	if err != nil {
		return true, err
	}
	if p.Retry != nil {
		q.attempt++
		k.queue = append(k.queue, q)
		return false, nil
	}
	delete(k.Runs, q.Run)
	k.runs[q.Run.Node]++
	if q.Action != "" {
		k.found.Nodes++
	}
	return k.commit(p)
}

func (k *walker) args(list []plan.Arg) (json.RawMessage, error) {
	args := make(map[string]json.RawMessage, len(list))
	for _, a := range list {
		args[a.Name] = a.Value
		if a.Ref == nil {
			continue
		}
		var err error
		if args[a.Name], err = plan.JoinAppended(k.Values[*a.Ref], k.Appended[*a.Ref]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(args)
}

func (k *walker) commit(p plan.Plan) (ended bool, err error) {
	k.values, k.elements, k.raises, k.appended = map[plan.Slot]bool{}, map[graph.Run]int{}, map[graph.Run]int{}, 0
	k.note(&p)
	end, err := k.Fixpoint(p, func(ev plan.Event) (plan.Plan, error) {
		p, err := k.Step(ev, 0.5)
		if err == nil && k.Program.Needs(ev).Elements {
			k.Forget(ev.Run)
		}
		k.note(&p)
		return p, err
	})
	if end != nil || err != nil || k.wrong != nil {
		return true, errors.Join(err, k.wrong)
	}
	for slot := range k.values {
		if _, stands := k.Values[slot]; stands {
			k.found.Values++
		}
	}
	k.found.Values += k.appended
	for run, n := range k.elements {
		if len(k.Elements[run]) > 0 {
			k.found.Elements += n
		}
	}
	for run, n := range k.raises {
		if c, stands := k.Counters[run]; stands && c.Completed < c.Required {
			k.found.Raises += n
			k.counters[run] = true
		}
	}
	return false, nil
}

func (k *walker) note(p *plan.Plan) {
	for _, w := range p.Writes {
		k.values[w.Slot] = true
	}
	k.appended += len(p.Appends)
	for _, e := range p.Elements {
		k.elements[e.Barrier]++
	}
	for _, o := range p.Opens {
		k.raises[o.Run]++
	}
	for _, a := range p.Arrivals {
		k.raises[a.Run]++
	}
}

// maxGraphs bounds the graphs measured in a comparison. Two graphs count as one if they differ by less than likeGraphs of a
// completion's rows.
const (
	maxGraphs  = 12
	likeGraphs = 0.04
)

// graphs selects those for which ceilings are measured. Of similar graphs, and of the nearest if there are too many, it keeps
// the one that writes less, which has the higher ceiling.
func graphs(all []record.InstanceWrites) []record.InstanceWrites {
	var out []record.InstanceWrites
	for _, w := range all {
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	for len(out) > 1 {
		a, b, nearest := 0, 0, 0.0
		for i := range out {
			for j := range out[:i] {
				if d := out[i].Distance(&out[j]); b == a || d < nearest {
					a, b, nearest = i, j, d
				}
			}
		}
		if len(out) <= maxGraphs && nearest > likeGraphs {
			break
		}
		if out[a].RowsPerNode() < out[b].RowsPerNode() {
			a = b
		}
		out = slices.Delete(out, a, a+1)
	}
	return out
}
