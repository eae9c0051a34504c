package state

import "pulley/engine/plan"

// Turns hands out ready runs by turns: of workflows, and among those of a workflow by turns of instances, both in the order in which
// they joined. A FIFO holds the same runs: what one has handed out, the other skips.
type Turns struct {
	workflows ring[any, *workflowTurns]
}

type workflowTurns struct {
	instances ring[*Instance, *instanceTurns]
}

type instanceTurns struct{ line []*Run }

// Push adds a ready run behind those of its instance, unless it is there.
func (t *Turns) Push(r *Run) {
	if r.inTurns {
		return
	}
	r.inTurns = true
	w := t.workflows.of(workflowOf(r.Inst.Core), func() *workflowTurns { return &workflowTurns{} })
	i := w.instances.of(r.Inst, func() *instanceTurns { return &instanceTurns{} })
	i.line = append(i.line, r)
}

// workflowOf returns what tells workflows apart: programs that were read twice are one.
func workflowOf(c Core) any {
	if p, ok := c.(*plan.Program); ok {
		return p.Hash()
	}
	return c
}

// Next removes and returns a ready run that is wanted, of the instance whose turn it is, or nil. What is not wanted loses its place.
func (t *Turns) Next(wanted func(*Run) bool) *Run {
	for t.workflows.len() > 0 {
		w := t.workflows.next()
		for w.instances.len() > 0 {
			i := w.instances.next()
			r := i.next(wanted)
			if len(i.line) == 0 {
				w.instances.removeLast()
			}
			if r == nil {
				continue
			}
			if w.instances.len() == 0 {
				t.workflows.removeLast()
			}
			return r
		}
		t.workflows.removeLast()
	}
	return nil
}

// Forget removes all runs.
func (t *Turns) Forget() {
	for _, w := range t.workflows.all {
		for _, i := range w.member.instances.all {
			for _, r := range i.member.line {
				r.inTurns = false
			}
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
type ring[K comparable, M any] struct {
	all []ringMember[K, M]
	by  map[K]M
	at  int // of the next one
}

type ringMember[K comparable, M any] struct {
	key    K
	member M
}

func (r *ring[K, M]) len() int { return len(r.all) }

// of returns the member of a key, which joins at the end if it is new.
func (r *ring[K, M]) of(key K, fresh func() M) M {
	m, ok := r.by[key]
	if !ok {
		if m = fresh(); r.by == nil {
			r.by = map[K]M{}
		}
		r.by[key] = m
		r.all = append(r.all, ringMember[K, M]{key, m})
	}
	return m
}

// next returns the member whose turn it is. There must be one.
func (r *ring[K, M]) next() M {
	if r.at >= len(r.all) {
		r.at = 0
	}
	r.at++
	return r.all[r.at-1].member
}

// removeLast removes the member that next returned last. The last one of the ring takes its place, and its turn now.
func (r *ring[K, M]) removeLast() {
	r.at--
	delete(r.by, r.all[r.at].key)
	last := len(r.all) - 1
	r.all[r.at] = r.all[last]
	r.all[last] = ringMember[K, M]{}
	r.all = r.all[:last]
}
