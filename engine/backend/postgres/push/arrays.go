package push

import (
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// arrays are the parameters of apply.sql, in its order. Arrays of one group have the same length.
type arrays struct {
	done struct {
		ord      []int32
		instance [][16]byte
		node     []int32
		path     []string
		token    []int64
		wait     []*int64
	}
	born struct {
		ord      []int32
		instance [][16]byte
		workflow []int32
		input    []string
		status   []string
		result   []*string
		failure  []*string
	}
	goOn   []int32
	values struct {
		ord      []int32
		instance [][16]byte
		variable []int32
		path     []string
		element  []int32
		value    []string
	}
	arrivals struct {
		ord      []int32
		instance [][16]byte
		node     []int32
		path     []string
		required []int32
		hard     []int32
		soft     []int32
	}
	runs struct {
		ord      []int32
		instance [][16]byte
		node     []int32
		path     []string
		workflow []int32
		args     []string
		wait     []int64
	}
	watched bool
	ends    struct {
		ord      []int32
		instance [][16]byte
		status   []string
		untidy   []bool
		result   []*string
		failure  []*string
		token    []int64
	}
}

// add appends what an event changes.
func (a *arrays) add(e *event) error {
	switch {
	case e.completion != nil:
		a.addCompletion(e)
	case e.submission != nil:
		if err := a.addSubmission(e); err != nil {
			return err
		}
	default:
		a.goOn = append(a.goOn, e.ord)
	}
	for _, w := range e.plan.Writes {
		if w.Value != nil {
			a.addValue(e, w.Slot.Var, w.Slot.Scope, -1, w.Value)
		}
	}
	for _, ap := range e.plan.Appends {
		a.addValue(e, ap.Slot.Var, ap.Slot.Scope, ap.Index, ap.Value)
	}
	for _, el := range e.plan.Elements {
		a.addValue(e, e.program.Graph().Nodes[el.Barrier.Node].Var, el.Barrier.Path, el.Index, el.Value)
	}
	for _, o := range e.plan.Opens {
		a.addArrival(e, o.Run, o.Required, 0, 0)
	}
	for _, ar := range e.plan.Arrivals {
		a.watched = a.watched || ar.Watched
		if ar.Soft {
			a.addArrival(e, ar.Run, ar.Required, 0, 1)
		} else {
			a.addArrival(e, ar.Run, ar.Required, 1, 0)
		}
	}
	for _, q := range e.plan.Enqueues {
		args, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return err
		}
		r := &a.runs
		r.ord = append(r.ord, e.ord)
		r.instance = append(r.instance, e.instance)
		r.node = append(r.node, int32(q.Run.Node))
		r.path = append(r.path, string(q.Run.Path))
		r.workflow = append(r.workflow, e.workflow)
		r.args = append(r.args, string(args))
		r.wait = append(r.wait, micros(q.After))
	}
	if e.plan.End != nil && e.submission == nil {
		return a.addEnd(e)
	}
	return nil
}

func (a *arrays) addCompletion(e *event) {
	d, run := &a.done, e.completion.Lease.Key.Run
	d.ord = append(d.ord, e.ord)
	d.instance = append(d.instance, e.instance)
	d.node = append(d.node, int32(run.Node))
	d.path = append(d.path, string(run.Path))
	d.token = append(d.token, e.token)
	var wait *int64
	if e.plan.Retry != nil {
		us := micros(e.plan.Retry.After)
		wait = &us
	}
	d.wait = append(d.wait, wait)
}

func (a *arrays) addSubmission(e *event) error {
	status, result, failure := "running", (*string)(nil), (*string)(nil)
	if e.plan.End != nil {
		var err error
		if status, result, failure, err = ending(e.plan.End); err != nil {
			return err
		}
	}
	b := &a.born
	b.ord = append(b.ord, e.ord)
	b.instance = append(b.instance, e.instance)
	b.workflow = append(b.workflow, e.workflow)
	b.input = append(b.input, string(e.submission.Input))
	b.status = append(b.status, status)
	b.result = append(b.result, result)
	b.failure = append(b.failure, failure)
	return nil
}

func (a *arrays) addValue(e *event, variable graph.VarID, path graph.Path, element int, value json.RawMessage) {
	v := &a.values
	v.ord = append(v.ord, e.ord)
	v.instance = append(v.instance, e.instance)
	v.variable = append(v.variable, int32(variable))
	v.path = append(v.path, string(path))
	v.element = append(v.element, int32(element))
	v.value = append(v.value, string(value))
}

func (a *arrays) addArrival(e *event, run graph.Run, required int, hard, soft int32) {
	r := &a.arrivals
	r.ord = append(r.ord, e.ord)
	r.instance = append(r.instance, e.instance)
	r.node = append(r.node, int32(run.Node))
	r.path = append(r.path, string(run.Path))
	r.required = append(r.required, int32(required))
	r.hard = append(r.hard, hard)
	r.soft = append(r.soft, soft)
}

func (a *arrays) addEnd(e *event) error {
	status, result, failure, err := ending(e.plan.End)
	if err != nil {
		return err
	}
	n := &a.ends
	n.ord = append(n.ord, e.ord)
	n.instance = append(n.instance, e.instance)
	n.status = append(n.status, status)
	n.untidy = append(n.untidy, !takesAll(e))
	n.result = append(n.result, result)
	n.failure = append(n.failure, failure)
	n.token = append(n.token, e.token)
	return nil
}

// takesAll says whether an instance's rows go in the transaction that ends it: it has completed, and
// nothing else can be at work on it.
func takesAll(e *event) bool {
	return e.plan.End != nil && e.plan.End.Failure == nil && quiet(e.program)
}

// ending gives the columns of an end.
func ending(end *plan.End) (status string, result, failure *string, err error) {
	if end.Failure == nil {
		text := string(end.Result)
		return string(backend.Completed), &text, nil, nil
	}
	data, err := json.Marshal(end.Failure)
	text := string(data)
	return string(backend.Failed), nil, &text, err
}

// parameters gives the values of apply.sql.
func (a *arrays) parameters(shard int, grant backend.Grant, most int) []any {
	d, b, v, r, q, n := &a.done, &a.born, &a.values, &a.arrivals, &a.runs, &a.ends
	return []any{
		shard,
		d.ord, d.instance, d.node, d.path, d.token, d.wait,
		b.ord, b.instance, b.workflow, b.input, b.status, b.result, b.failure,
		a.goOn,
		v.ord, v.instance, v.variable, v.path, v.element, v.value,
		r.ord, r.instance, r.node, r.path, r.required, r.hard, r.soft,
		q.ord, q.instance, q.node, q.path, q.workflow, q.args, q.wait,
		n.ord, n.instance, n.status, n.untidy, n.result, n.failure, n.token,
		grant.Owner, most, micros(grant.Lease),
		a.watched,
	}
}

// inOrder sorts events by instance, node and path: the order in which every commit locks rows.
func inOrder(events []*event) {
	slices.SortStableFunc(events, func(a, b *event) int { return a.key().Compare(b.key()) })
}

func (e *event) key() backend.Key { return backend.Key{Instance: e.instance, Run: e.run()} }

func (e *event) run() graph.Run {
	if e.completion == nil {
		return e.fired
	}
	return e.completion.Lease.Key.Run
}
