package eager

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
)

type rows struct {
	instance [][16]byte
	node     []int32
	place    []string
}

func (r *rows) add(instance uuid.UUID, node graph.NodeID, place graph.Path) {
	r.instance = append(r.instance, instance)
	r.node = append(r.node, int32(node))
	r.place = append(r.place, string(place))
}

type newInstances struct {
	instance [][16]byte
	workflow []int32
	input    []string
	status   []string
	result   []*string
	failure  []*string
}

func (n *newInstances) add(e *commitEvent) error {
	status, result, failure := string(backend.Running), json.RawMessage(nil), json.RawMessage(nil)
	if e.plan.End != nil {
		var err error
		if status, result, failure, err = pgstore.EndColumns(e.outcome()); err != nil {
			return err
		}
	}
	n.instance = append(n.instance, e.instance)
	n.workflow = append(n.workflow, e.workflow)
	n.input = append(n.input, string(e.submission.Input))
	n.status = append(n.status, status)
	n.result = append(n.result, pgstore.NullableText(result))
	n.failure = append(n.failure, pgstore.NullableText(failure))
	return nil
}

func (n *newInstances) parameters(shard int) []any {
	return []any{shard, n.instance, n.workflow, n.input, n.status, n.result, n.failure}
}

// arrays are the parameters of apply.sql, in its order, and what its results refer to.
type arrays struct {
	c *commit

	done struct {
		rows
		wait []*int64
	}
	expected struct {
		rows
		required []int32
	}
	values struct {
		instance [][16]byte
		variable []int32
		scope    []string
		element  []int32
		value    []string
	}
	pushed struct {
		rows
		element []int32
		payload []string
	}
	arrivals struct {
		rows
		path                 []string
		required, hard, soft []int32
	}
	runs struct {
		rows
		path     []string
		required []int32
		wait     []int64
		leased   []bool
		args     []*string
	}
	end struct {
		rows
		status  []string
		result  []*string
		failure []*string
		shared  []bool // whether other node runs may be open
	}
	unset struct {
		instance [][16]byte
		variable []int32
		scope    []string
		first    []int32
	}

	arrived     map[backend.Key]arrivals
	ready       map[backend.Key]ready
	ends        map[[16]byte]*commitEvent
	places      map[valueKey]int
	leased      int
	leavesReady bool // a ready node run was not leased
}

type arrivals struct {
	event *commitEvent
	sent  int
}

type ready struct {
	event *commitEvent
	run   *plan.Enqueue
}

type valueKey struct {
	instance uuid.UUID
	slot     plan.Slot
	element  int
}

func (a *arrays) add(e *commitEvent) error {
	if e.plan.End != nil {
		return a.addEnd(e)
	}
	a.addDone(e)
	for _, w := range e.plan.Writes {
		a.addWrite(e, w)
	}
	for _, p := range e.plan.Appends {
		a.addValue(e, p.Slot, p.Index, p.Value)
	}
	touched := map[graph.Run]bool{} // by node and place
	for _, el := range e.plan.Elements {
		a.addPushed(e, el.Barrier, el.Index, el.Value)
	}
	for _, o := range e.plan.Opens {
		touched[a.addArrival(e, plan.Arrival{Run: o.Run, Required: o.Required}, true)] = true
	}
	for _, ar := range e.plan.Arrivals {
		touched[a.addArrival(e, ar, false)] = true
	}
	for i := range e.plan.Enqueues {
		row, err := a.addRun(e, &e.plan.Enqueues[i])
		if err != nil {
			return err
		}
		touched[row] = true
	}
	a.addExpected(e, touched)
	return nil
}

// addDone marks the event's node run as completed, or as ready for a retry. It skips a run whose row serves another round from
// now on, or that is cancelled.
func (a *arrays) addDone(e *commitEvent) {
	if e.submission != nil || a.c.isCancelled(e) || e.coreEvent.Fired && !e.program.Graph().Waits(e.shape.graph.Nodes[e.coreEvent.Run.Node]) {
		return
	}
	for i := range e.plan.Enqueues {
		if e.plan.Enqueues[i].Run == e.coreEvent.Run { // a barrier that is an action
			return
		}
	}
	a.done.rows.add(e.instance, e.coreEvent.Run.Node, e.place)
	var wait *int64
	if e.plan.Retry != nil {
		us := e.plan.Retry.After.Microseconds()
		wait = &us
		a.leavesReady = a.leavesReady || us == 0
	}
	a.done.wait = append(a.done.wait, wait)
}

func (a *arrays) addWrite(e *commitEvent, w plan.Write) {
	if w.Value != nil {
		a.addValue(e, w.Slot, -1, w.Value)
	}
	if w.Value != nil && !w.Drops {
		return
	}
	u := &a.unset
	u.instance = append(u.instance, e.instance)
	u.variable = append(u.variable, int32(w.Slot.Var))
	u.scope = append(u.scope, string(w.Slot.Scope))
	if w.Value == nil {
		u.first = append(u.first, -1)
	} else {
		u.first = append(u.first, 0)
	}
}

// addValue sets a value. A statement may write each row once, so the last of several values counts.
func (a *arrays) addValue(e *commitEvent, slot plan.Slot, element int, value json.RawMessage) {
	v := &a.values
	key := valueKey{e.instance, slot, element}
	if at, ok := a.places[key]; ok {
		v.value[at] = string(value)
		return
	}
	if a.places == nil {
		a.places = map[valueKey]int{}
	}
	a.places[key] = len(v.value)
	v.instance = append(v.instance, e.instance)
	v.variable = append(v.variable, int32(slot.Var))
	v.scope = append(v.scope, string(slot.Scope))
	v.element = append(v.element, int32(element))
	v.value = append(v.value, string(value))
}

func (a *arrays) addPushed(e *commitEvent, run graph.Run, element int, payload []byte) {
	a.pushed.rows.add(e.instance, run.Node, e.shape.run(run))
	a.pushed.element = append(a.pushed.element, int32(element))
	a.pushed.payload = append(a.pushed.payload, string(payload))
}

// addArrival counts an arrival or, if open is set, sets the barrier's count. It returns the row.
func (a *arrays) addArrival(e *commitEvent, ar plan.Arrival, open bool) graph.Run {
	place := e.shape.run(ar.Run)
	hard, soft := int32(1), int32(0)
	switch {
	case open:
		hard = 0
	case ar.Soft:
		hard, soft = 0, 1
	}
	key := backend.Key{Instance: e.instance, Run: ar.Run}
	at := a.arrived[key]
	at.event, at.sent = e, at.sent+int(hard)
	if a.arrived == nil {
		a.arrived = map[backend.Key]arrivals{}
	}
	a.arrived[key] = at
	r := &a.arrivals
	r.rows.add(e.instance, ar.Run.Node, place)
	r.path = append(r.path, string(ar.Run.Path))
	r.required = append(r.required, int32(ar.Required))
	r.hard = append(r.hard, hard)
	r.soft = append(r.soft, soft)
	return graph.Run{Node: ar.Run.Node, Path: place}
}

func (a *arrays) addRun(e *commitEvent, q *plan.Enqueue) (graph.Run, error) {
	place := e.shape.run(q.Run)
	leased := q.After <= 0 && len(a.c.result.Tasks)+a.leased < a.c.grant.Max
	switch {
	case leased:
		a.leased++
	case q.After <= 0:
		a.leavesReady = true
	}
	r := &a.runs
	r.rows.add(e.instance, q.Run.Node, place)
	r.path = append(r.path, string(q.Run.Path))
	r.required = append(r.required, e.shape.required(q.Run.Node))
	r.wait = append(r.wait, q.After.Microseconds())
	r.leased = append(r.leased, leased)
	if a.ready == nil {
		a.ready = map[backend.Key]ready{}
	}
	a.ready[backend.Key{Instance: e.instance, Run: q.Run}] = ready{e, q}
	var args *string
	if len(q.Args) > 0 {
		data, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return graph.Run{}, err
		}
		text := string(data)
		args = &text
	}
	r.args = append(r.args, args)
	return graph.Run{Node: q.Run.Node, Path: place}, nil
}

// addExpected creates node rows except those touched by the event: at an instance's start all outside spreads, and those of each
// element once a spread's number of elements is known.
func (a *arrays) addExpected(e *commitEvent, touched map[graph.Run]bool) {
	expect := func(nodes []graph.NodeID, place graph.Path) {
		for _, n := range nodes {
			if !touched[graph.Run{Node: n, Path: place}] {
				a.expected.rows.add(e.instance, n, place)
				a.expected.required = append(a.expected.required, e.shape.required(n))
			}
		}
	}
	if e.submission != nil {
		expect(e.shape.first, "")
	}
	for _, o := range e.plan.Opens {
		place := e.shape.run(o.Run)
		for i := range o.Required {
			expect(e.shape.each[o.Run.Node], place.Push(i))
		}
	}
}

// addEnd ends the event's instance. An instance that ends at its start is inserted as ended.
func (a *arrays) addEnd(e *commitEvent) error {
	if a.ends == nil {
		a.ends = map[[16]byte]*commitEvent{}
	}
	a.ends[e.instance] = e
	if e.submission != nil {
		a.c.result.Ended = append(a.c.result.Ended, e.outcome())
		return nil
	}
	status, result, failure, err := pgstore.EndColumns(e.outcome())
	if err != nil {
		return err
	}
	n := &a.end
	n.rows.add(e.instance, e.coreEvent.Run.Node, e.place)
	n.status = append(n.status, status)
	n.result = append(n.result, pgstore.NullableText(result))
	n.failure = append(n.failure, pgstore.NullableText(failure))
	n.shared = append(n.shared, !e.isAlone())
	return nil
}

func (a *arrays) queueUnset(batch *pgx.Batch) {
	if u := &a.unset; len(u.instance) > 0 {
		batch.Queue(unsetSQL, a.c.shard, u.instance, u.variable, u.scope, u.first)
	}
}

func (a *arrays) parameters() []any {
	d, x, v, p, r, q, n := &a.done, &a.expected, &a.values, &a.pushed, &a.arrivals, &a.runs, &a.end
	return []any{
		a.c.shard,
		d.instance, d.node, d.place, d.wait,
		x.instance, x.node, x.place, x.required,
		v.instance, v.variable, v.scope, v.element, v.value,
		p.instance, p.node, p.place, p.element, p.payload,
		r.instance, r.node, r.place, r.path, r.required, r.hard, r.soft,
		q.instance, q.node, q.place, q.path, q.required, q.wait, q.leased, q.args,
		n.instance, n.status, n.result, n.failure,
		a.c.grant.Owner, a.c.grant.Lease.Microseconds(),
	}
}
