package state

import (
	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Turns hands out ready runs by turns of workflows, and among those of one by turns of its instances, or by turns of all instances. They
// have turns in the order in which they joined. A FIFO holds the same runs: what one has handed out, the other skips.
type Turns struct {
	workflows ring[*workflowTurns]
	instances ring[*instanceTurns]

	byWorkflow map[any]*workflowTurns
	byInstance map[*Instance]*instanceTurns
}

type workflowTurns struct {
	key       any
	instances ring[*instanceTurns]
}

// instanceTurns are the runs of an instance. It leaves each ring when that comes to it and nothing is left.
type instanceTurns struct {
	inst             *Instance
	line             []*Run
	inAll, inPartial bool // in the ring of all instances, and in its workflow's
}

// Push adds a ready run behind those of its instance, unless it is there.
func (t *Turns) Push(r *Run) {
	if r.inTurns {
		return
	}
	r.inTurns = true
	i := t.byInstance[r.Inst]
	if i == nil {
		i = &instanceTurns{inst: r.Inst}
		put(&t.byInstance, r.Inst, i)
	}
	i.line = append(i.line, r)
	if !i.inAll {
		i.inAll = true
		t.instances.join(i)
	}
	if i.inPartial {
		return
	}
	i.inPartial = true
	key := workflowOf(r.Inst.Core)
	w := t.byWorkflow[key]
	if w == nil {
		w = &workflowTurns{key: key}
		put(&t.byWorkflow, key, w)
		t.workflows.join(w)
	}
	w.instances.join(i)
}

func put[K comparable, V any](m *map[K]V, key K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = v
}

// workflowOf returns what tells workflows apart: programs that were read twice are one.
func workflowOf(c Core) any {
	if p, ok := c.(*plan.Program); ok {
		return p.Hash()
	}
	return c
}

// Next removes and returns a ready run that is wanted, of the workflow or the instance whose turn it is, or nil. What is not wanted loses its
// place.
func (t *Turns) Next(order backend.Order, wanted func(*Run) bool) *Run {
	if order == backend.ByInstance {
		return t.nextOf(&t.instances, func(i *instanceTurns) { i.inAll = false }, wanted)
	}
	for t.workflows.len() > 0 {
		w := t.workflows.next()
		r := t.nextOf(&w.instances, func(i *instanceTurns) { i.inPartial = false }, wanted)
		if w.instances.len() == 0 {
			t.workflows.removeLast()
			delete(t.byWorkflow, w.key)
		}
		if r != nil {
			return r
		}
	}
	return nil
}

// nextOf returns the next run of a ring of instances. It calls left with those that leave the ring.
func (t *Turns) nextOf(instances *ring[*instanceTurns], left func(*instanceTurns), wanted func(*Run) bool) *Run {
	for instances.len() > 0 {
		i := instances.next()
		r := i.next(wanted)
		if len(i.line) == 0 {
			instances.removeLast()
			if left(i); !i.inAll && !i.inPartial {
				delete(t.byInstance, i.inst)
			}
		}
		if r != nil {
			return r
		}
	}
	return nil
}

// Forget removes all runs.
func (t *Turns) Forget() {
	for _, i := range t.byInstance {
		for _, r := range i.line {
			r.inTurns = false
		}
	}
	*t = Turns{}
}

func (i *instanceTurns) next(wanted func(*Run) bool) *Run {
	for len(i.line) > 0 {
		r := i.line[0]
		i.line[0], i.line = nil, i.line[1:]
		r.inTurns = false
		if r.Place == Ready && wanted(r) {
			return r
		}
	}
	return nil
}

// ring holds members that take turns.
type ring[M any] struct {
	all []M
	at  int // of the next one
}

func (r *ring[M]) len() int { return len(r.all) }

// join adds a member at the end.
func (r *ring[M]) join(m M) { r.all = append(r.all, m) }

// next returns the member whose turn it is. There must be one.
func (r *ring[M]) next() M {
	if r.at >= len(r.all) {
		r.at = 0
	}
	r.at++
	return r.all[r.at-1]
}

// removeLast removes the member that next returned last. The last one of the ring takes its place, and its turn now.
func (r *ring[M]) removeLast() {
	r.at--
	last := len(r.all) - 1
	r.all[r.at] = r.all[last]
	var none M
	r.all[last] = none
	r.all = r.all[:last]
}
