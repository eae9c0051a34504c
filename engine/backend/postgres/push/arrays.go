package push

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

// Arrays of one group have the same length.
type arrays struct {
	done    struct{ ord, instance, node, path, token, wait pgstore.Array }
	created struct {
		ord, instance, workflow, input, status, result, failure pgstore.Array
	}
	values   struct{ ord, instance, variable, path, element, value pgstore.Array }
	elements struct{ ord, instance, node, path, place, value pgstore.Array }
	arrivals struct {
		ord, instance, node, path, required, hard, soft pgstore.Array
	}
	runs    struct{ ord, instance, node, path, args, wait, workflow pgstore.Array }
	watched bool
	retries bool
	turns   bool
	ends    struct{ ord, instance, status, result, failure pgstore.Array }
	args    []any // all, in the order of apply.sql
	chosen  []any // those of one statement
}

const (
	argShard = iota
	argBackend
	argSlot
	argNumber
	argOwner
	argLease
	argWatched
	argArrays
)

var arraysPool = sync.Pool{New: func() any { return newArrays() }}

func newArrays() *arrays {
	int4, int8, id, text, value := pgstore.Int4s(), pgstore.Int8s(), pgstore.UUIDs(), pgstore.Texts(), pgstore.JSONs()
	a := &arrays{}
	d, b, v, e, r, q, n := &a.done, &a.created, &a.values, &a.elements, &a.arrivals, &a.runs, &a.ends
	d.ord, d.instance, d.node, d.path, d.token, d.wait = int4, id, int4, text, int8, int8
	b.ord, b.instance, b.workflow, b.input, b.status, b.result, b.failure = int4, id, int4, value, text, value, value
	v.ord, v.instance, v.variable, v.path, v.element, v.value = int4, id, int4, text, int4, value
	e.ord, e.instance, e.node, e.path, e.place, e.value = int4, id, int4, text, int4, value
	r.ord, r.instance, r.node, r.path, r.required, r.hard, r.soft = int4, id, int4, text, int4, int4, int4
	q.ord, q.instance, q.node, q.path, q.args, q.wait, q.workflow = int4, id, int4, text, value, int8, int4
	n.ord, n.instance, n.status, n.result, n.failure = int4, id, text, value, value
	a.args = append(make([]any, argArrays),
		&d.ord, &d.instance, &d.node, &d.path, &d.token, &d.wait,
		&b.ord, &b.instance, &b.workflow, &b.input, &b.status, &b.result, &b.failure,
		&v.ord, &v.instance, &v.variable, &v.path, &v.element, &v.value,
		&e.ord, &e.instance, &e.node, &e.path, &e.place, &e.value,
		&r.ord, &r.instance, &r.node, &r.path, &r.required, &r.hard, &r.soft,
		&q.ord, &q.instance, &q.node, &q.path, &q.args, &q.wait,
		&n.ord, &n.instance, &n.status, &n.result, &n.failure,
		&q.workflow)
	return a
}

// arraysMax is the size in bytes beyond which an array is not pooled.
const arraysMax = 1 << 20

func (a *arrays) free() {
	size := 0
	for _, arg := range a.args[argArrays:] {
		array := arg.(*pgstore.Array)
		size = max(size, array.Size())
		array.Reset()
	}
	a.watched, a.retries, a.turns = false, false, false
	if size <= arraysMax {
		arraysPool.Put(a)
	}
}

func (a *arrays) kinds() kinds {
	var k kinds
	has := func(array *pgstore.Array, kind kinds) {
		if array.Len() > 0 {
			k |= kind
		}
	}
	has(&a.done.ord, completions)
	has(&a.created.ord, instances)
	has(&a.values.ord, values)
	has(&a.elements.ord, elements)
	has(&a.arrivals.ord, arrivals)
	has(&a.runs.ord, runs)
	has(&a.ends.ord, ends)
	if a.retries {
		k |= retries
	}
	if a.turns {
		k |= turns
	}
	return k
}

func (a *arrays) add(e *commitEvent) error {
	switch {
	case e.completion != nil:
		a.addCompletion(e)
	case e.submission != nil:
		if err := a.addSubmission(e); err != nil {
			return err
		}
	}
	for _, w := range e.plan.Writes {
		if w.Value != nil {
			a.addValue(e, w.Slot, -1, w.Value)
		}
	}
	for _, ap := range e.plan.Appends {
		a.addValue(e, ap.Slot, ap.Index, ap.Value)
	}
	for _, el := range e.plan.Elements {
		v := &a.elements
		v.ord.Int4(e.ord)
		v.instance.UUID(e.instance)
		v.node.Int4(int32(el.Barrier.Node))
		v.path.Text(string(el.Barrier.Path))
		v.place.Int4(int32(el.Index))
		v.value.Bytes(el.Value)
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
	if e.plan.End != nil && e.submission == nil {
		return a.addEnd(e)
	}
	return nil
}

func (a *arrays) addCompletion(e *commitEvent) {
	d, run := &a.done, &e.completion.Lease.Key.Run
	d.ord.Int4(e.ord)
	d.instance.UUID(e.instance)
	d.node.Int4(int32(run.Node))
	d.path.Text(string(run.Path))
	d.token.Int8(e.token)
	if e.plan.Retry == nil {
		d.wait.Null()
		return
	}
	a.retries = true
	wait := e.plan.Retry.After
	if wait <= 0 {
		wait = -backend.HeadStart(e.program)
	}
	d.wait.Int8(wait.Microseconds())
}

func (a *arrays) addSubmission(e *commitEvent) error {
	status, result, failure := string(backend.Running), json.RawMessage(nil), json.RawMessage(nil)
	if e.plan.End != nil {
		var err error
		if status, result, failure, err = pgstore.EndColumns(pgstore.EndedInstance(e.instance, e.plan.End)); err != nil {
			return err
		}
	}
	b := &a.created
	b.ord.Int4(e.ord)
	b.instance.UUID(e.instance)
	b.workflow.Int4(e.workflow)
	b.input.Bytes(e.submission.Input)
	b.status.Text(status)
	b.result.Bytes(result)
	b.failure.Bytes(failure)
	return nil
}

func (a *arrays) addValue(e *commitEvent, slot plan.Slot, element int, value json.RawMessage) {
	v := &a.values
	v.ord.Int4(e.ord)
	v.instance.UUID(e.instance)
	v.variable.Int4(int32(slot.Var))
	v.path.Text(string(slot.Scope))
	v.element.Int4(int32(element))
	v.value.Bytes(value)
}

func (a *arrays) addArrival(e *commitEvent, run graph.Run, required int, hard, soft int32) {
	r := &a.arrivals
	r.ord.Int4(e.ord)
	r.instance.UUID(e.instance)
	r.node.Int4(int32(run.Node))
	r.path.Text(string(run.Path))
	r.required.Int4(int32(required))
	r.hard.Int4(hard)
	r.soft.Int4(soft)
}

// addRun appends a node run. args are as EncodeArgs writes them. wait is when it may be claimed, in µs from now; a ready one with a head
// start might have been long ago. A leased one has none. workflow is the one that takes turns with others for it; zero: none.
func (a *arrays) addRun(e *commitEvent, run graph.Run, args []byte, wait int64, leased bool, workflow int32) {
	q := &a.runs
	q.ord.Int4(e.ord)
	q.instance.UUID(e.instance)
	q.node.Int4(int32(run.Node))
	q.path.Text(string(run.Path))
	q.args.Bytes(args)
	if leased {
		q.wait.Null()
	} else {
		q.wait.Int8(wait)
	}
	if workflow == 0 || leased {
		q.workflow.Null()
		return
	}
	a.turns = true
	q.workflow.Int4(workflow)
}

func (a *arrays) addEnd(e *commitEvent) error {
	status, result, failure, err := pgstore.EndColumns(pgstore.EndedInstance(e.instance, e.plan.End))
	if err != nil {
		return err
	}
	n := &a.ends
	n.ord.Int4(e.ord)
	n.instance.UUID(e.instance)
	n.status.Text(status)
	n.result.Bytes(result)
	n.failure.Bytes(failure)
	return nil
}

// inOrder sorts events by key, the order in which every commit locks.
func inOrder(events []*commitEvent) {
	slices.SortStableFunc(events, func(a, b *commitEvent) int {
		if c := bytes.Compare(a.instance[:], b.instance[:]); c != 0 {
			return c
		}
		ra, rb := a.run(), b.run()
		return cmp.Or(cmp.Compare(ra.Node, rb.Node), strings.Compare(string(ra.Path), string(rb.Path)))
	})
}

func (e *commitEvent) run() *graph.Run {
	if e.completion == nil {
		return &e.continuation
	}
	return &e.completion.Lease.Key.Run
}
