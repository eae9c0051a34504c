package pull

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

type effects struct {
	values struct {
		instance [][16]byte
		variable []int32
		path     []string
		element  []int32
		value    []string
	}
	unset struct {
		instance    [][16]byte
		variable    []int32
		path        []string
		first, last []int32 // elements
	}
	arrivals struct {
		runs
		source   []string
		required []int32
		watched  []bool
		args     []*string
		wait     []*int64
		finish   []*string
	}
	reachedCounts struct {
		runs
		count []int32
	}
	resumed        runs // continued
	openedBarriers runs
	atWork         scope // cancelled runs
	rows           scope
	slots          scope
}

// scope is a list of ranges of rows to clear: nodes or variables, first <= path < last.
type scope struct {
	instance    [][16]byte
	id          []int32
	first, last []string
}

// base is the element of a variable's own value. Appended values, and those of an aggregate's branches, have their index in the
// list.
const base = -1

// add appends a plan. from names its source: equal steps from one source count once, so that nothing offered twice counts twice.
func (f *effects) add(p *plan.Program, instance uuid.UUID, from string, pl plan.Plan) error {
	f.write(p, instance, pl)
	times := map[graph.Run]int{} // one source can make several steps
	for _, a := range pl.Arrivals {
		source := from
		if times[a.Run]++; times[a.Run] > 1 {
			source += "#" + strconv.Itoa(times[a.Run])
		}
		if a.Soft {
			source = "soft"
		}
		f.arrive(instance, arrival{run: a.Run, source: source, required: a.Required, watched: a.Watched})
	}
	for _, o := range pl.Opens {
		f.arrive(instance, arrival{run: o.Run, source: "open", required: o.Required})
	}
	for _, run := range pl.Resumes {
		f.arrive(instance, arrival{run: run, source: "resume", required: 1})
	}
	for _, q := range pl.Enqueues {
		args, err := backend.EncodeArgs(q.Args)
		if err != nil {
			return err
		}
		a := arrival{run: q.Run, source: from, required: 1, args: string(args)}
		if q.Action == "" {
			wait := q.After.Microseconds()
			a.wait = &wait
		}
		f.arrive(instance, a)
	}
	if pl.End != nil {
		text, err := encode(pl.End)
		if err != nil {
			return err
		}
		f.arrive(instance, arrival{run: graph.Run{Node: output(p)}, source: from, required: 1, finish: text})
	}
	for _, c := range pl.Clears {
		f.clear(p, instance, c)
	}
	return nil
}

func (f *effects) write(p *plan.Program, instance uuid.UUID, pl plan.Plan) {
	for _, w := range pl.Writes {
		switch {
		case w.Value == nil && w.Drops:
			f.removeElements(instance, w.Slot, base, math.MaxInt32)
		case w.Value == nil:
			f.removeElements(instance, w.Slot, base, base)
		case w.Drops:
			f.removeElements(instance, w.Slot, 0, math.MaxInt32)
		}
		if w.Value != nil {
			f.value(instance, w.Slot, base, w.Value)
		}
	}
	for _, a := range pl.Appends {
		f.value(instance, a.Slot, a.Index, a.Value)
	}
	for _, e := range pl.Elements {
		f.value(instance, plan.Slot{Var: p.Graph().Nodes[e.Barrier.Node].Var, Scope: e.Barrier.Path}, e.Index, e.Value)
	}
}

func encode(end *plan.End) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(end)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func output(p *plan.Program) graph.NodeID {
	for _, n := range p.Graph().Nodes {
		if n.Kind == graph.Output {
			return n.ID
		}
	}
	return 0
}

func (f *effects) value(instance uuid.UUID, slot plan.Slot, element int, value json.RawMessage) {
	v := &f.values
	v.instance = append(v.instance, instance)
	v.variable = append(v.variable, int32(slot.Var))
	v.path = append(v.path, string(slot.Scope))
	v.element = append(v.element, int32(element))
	v.value = append(v.value, string(value))
}

func (f *effects) removeElements(instance uuid.UUID, slot plan.Slot, first, last int32) {
	u := &f.unset
	u.instance = append(u.instance, instance)
	u.variable = append(u.variable, int32(slot.Var))
	u.path = append(u.path, string(slot.Scope))
	u.first, u.last = append(u.first, first), append(u.last, last)
}

// arrival is a step towards a node run; see the table.
type arrival struct {
	run      graph.Run
	source   string
	required int
	watched  bool
	args     string // empty: none
	wait     *int64
	finish   string // empty: none
}

func (f *effects) arrive(instance uuid.UUID, a arrival) {
	t := &f.arrivals
	t.add(backend.Key{Instance: instance, Run: a.run})
	t.source = append(t.source, a.source)
	t.required = append(t.required, int32(a.required))
	t.watched = append(t.watched, a.watched)
	t.args = append(t.args, textOrNull(a.args))
	t.wait = append(t.wait, a.wait)
	t.finish = append(t.finish, textOrNull(a.finish))
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func (f *effects) handled(r *ready) {
	switch {
	case r.resumed:
		f.resumed.add(r.key)
	case r.watched:
		f.reachedCounts.add(r.key)
		f.reachedCounts.count = append(f.reachedCounts.count, int32(r.arrived))
	}
}

// clear adds all rows of a clear, also steps at which a traversal stopped.
func (f *effects) clear(p *plan.Program, instance uuid.UUID, c plan.Clear) {
	for _, n := range p.Graph().Nodes {
		if !p.Graph().Within(n.Region, c.Region) {
			continue
		}
		f.rows.add(instance, int32(n.ID), c.Path)
		if c.AtWork {
			f.atWork.add(instance, int32(n.ID), c.Path)
		}
	}
	for _, v := range p.Cleared(c.Region).Vars {
		f.slots.add(instance, int32(v), c.Path)
	}
}

// add appends the range of a path and all below it: paths below continue with a dot, and the slash sorts after it but before
// all characters of a part.
func (s *scope) add(instance uuid.UUID, id int32, path graph.Path) {
	last := string(path) + "/"
	if path == "" {
		last = "~"
	}
	s.instance = append(s.instance, instance)
	s.id = append(s.id, id)
	s.first, s.last = append(s.first, string(path)), append(s.last, last)
}

func (s *scope) lock(batch *pgx.Batch, shard int) {
	if len(s.instance) > 0 {
		batch.Queue(lockRunsSQL, shard, s.instance, s.id, s.first, s.last)
	}
}

func (f *effects) queue(batch *pgx.Batch, shard int) {
	if r := &f.resumed; len(r.instance) > 0 {
		batch.Queue(resumedSQL, shard, r.instance, r.node, r.path)
	}
	if u := &f.unset; len(u.instance) > 0 {
		batch.Queue(unsetSQL, shard, u.instance, u.variable, u.path, u.first, u.last)
	}
	if v := &f.values; len(v.instance) > 0 {
		batch.Queue(addValuesSQL, shard, v.instance, v.variable, v.path, v.element, v.value)
	}
	if a := &f.arrivals; len(a.instance) > 0 {
		batch.Queue(addArrivalsSQL, shard, a.instance, a.node, a.path, a.source, a.required, a.watched, a.args, a.wait, a.finish)
	}
	if r := &f.reachedCounts; len(r.instance) > 0 {
		batch.Queue(reachedCountsSQL, shard, r.instance, r.node, r.path, r.count)
	}
	if m := &f.openedBarriers; len(m.instance) > 0 {
		batch.Queue(markSQL, shard, m.instance, m.node, m.path)
	}
	f.atWork.lock(batch, shard)
	if s := &f.rows; len(s.instance) > 0 {
		batch.Queue(clearLedgerSQL, shard, s.instance, s.id, s.first, s.last)
		batch.Queue(clearArrivalsSQL, shard, s.instance, s.id, s.first, s.last)
	}
	if s := &f.slots; len(s.instance) > 0 {
		batch.Queue(clearInboxSQL, shard, s.instance, s.id, s.first, s.last)
	}
}

func sourceOf(r graph.Run) string {
	return strconv.Itoa(int(r.Node)) + "/" + string(r.Path)
}
