package pull

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// effects are what plans change, as scan=sql writes it down: values, and steps towards node runs.
type effects struct {
	values struct {
		instance [][16]byte
		variable []int32
		path     []string
		element  []int32
		value    []string
	}
	gone struct {
		instance [][16]byte
		variable []int32
		path     []string
	}
	arrivals struct {
		instance [][16]byte
		node     []int32
		path     []string
		source   []string
		required []int32
		args     []*string
		finish   []*string
	}
}

// add appends a plan. from names what made it: two steps from one source count once, so that nothing
// counts twice that is offered twice.
func (f *effects) add(p *plan.Program, instance uuid.UUID, from string, pl plan.Plan, inbox plan.Inbox) error {
	for _, w := range pl.Writes {
		if w.Value == nil {
			f.gone.instance = append(f.gone.instance, instance)
			f.gone.variable = append(f.gone.variable, int32(w.Slot.Var))
			f.gone.path = append(f.gone.path, string(w.Slot.Scope))
			continue
		}
		f.value(instance, w.Slot.Var, w.Slot.Scope, -1, w.Value)
	}
	for _, e := range pl.Elements {
		f.value(instance, p.Graph().Nodes[e.Barrier.Node].Var, e.Barrier.Path, e.Index, e.Value)
	}
	for _, o := range pl.Opens {
		f.arrive(instance, o.Run, "open", o.Required, nil, nil)
	}
	for _, a := range pl.Arrivals {
		source := from
		if a.Soft {
			source = "soft"
		}
		f.arrive(instance, a.Run, source, a.Required, nil, nil)
	}
	for _, q := range pl.Enqueues {
		args, err := assemble(q, pl, inbox)
		if err != nil {
			return err
		}
		text := string(args)
		f.arrive(instance, q.Run, from, 1, &text, nil)
	}
	if pl.End != nil {
		text, err := encode(pl.End)
		if err != nil {
			return err
		}
		f.arrive(instance, graph.Run{Node: output(p)}, from, 1, nil, &text)
	}
	return nil
}

// encode gives an end as JSON that keeps the bytes of the values in it.
func encode(end *plan.End) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(end)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// assemble puts the arguments of a node run together from the plan and what it was made with.
func assemble(q plan.Enqueue, pl plan.Plan, inbox plan.Inbox) (json.RawMessage, error) {
	return backend.AssembleArgs(q.Args, func(s plan.Slot) (json.RawMessage, bool) {
		for _, w := range pl.Writes {
			if w.Slot == s {
				return w.Value, w.Value != nil
			}
		}
		v, ok := inbox.Values[s]
		return v, ok
	})
}

// output is the node whose row tells the end of the instance, however it ends.
func output(p *plan.Program) graph.NodeID {
	for _, n := range p.Graph().Nodes {
		if n.Kind == graph.Output {
			return n.ID
		}
	}
	return 0
}

func (f *effects) value(instance uuid.UUID, variable graph.VarID, path graph.Path, element int, value json.RawMessage) {
	v := &f.values
	v.instance = append(v.instance, instance)
	v.variable = append(v.variable, int32(variable))
	v.path = append(v.path, string(path))
	v.element = append(v.element, int32(element))
	v.value = append(v.value, string(value))
}

func (f *effects) arrive(instance uuid.UUID, run graph.Run, source string, required int, args, finish *string) {
	a := &f.arrivals
	a.instance = append(a.instance, instance)
	a.node = append(a.node, int32(run.Node))
	a.path = append(a.path, string(run.Path))
	a.source = append(a.source, source)
	a.required = append(a.required, int32(required))
	a.args = append(a.args, args)
	a.finish = append(a.finish, finish)
}

// queue adds the statements that write the effects down.
func (f *effects) queue(batch *pgx.Batch, shard int) {
	if v := &f.values; len(v.instance) > 0 {
		batch.Queue(addValuesSQL, shard, v.instance, v.variable, v.path, v.element, v.value)
	}
	if g := &f.gone; len(g.instance) > 0 {
		batch.Queue(unsetSQL, shard, g.instance, g.variable, g.path)
	}
	if a := &f.arrivals; len(a.instance) > 0 {
		batch.Queue(addArrivalsSQL, shard, a.instance, a.node, a.path, a.source, a.required, a.args, a.finish)
	}
}

// sourceOf names a node run as a source of steps.
func sourceOf(r graph.Run) string {
	return strconv.Itoa(int(r.Node)) + "/" + string(r.Path)
}
