package push

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// What stands here decides without the database, and is exported for simulations of this design.

// Planned is an event with its plan: a completion, a new instance, or a run that goes on.
type Planned interface {
	postgres.Member
	Key() backend.Key // of its run; of a new instance, nothing
	Plan() (*plan.Program, *plan.Plan)
	New() bool // it begins its instance, which has no rows yet
}

// CallsOff says whether a plan calls off runs that may be at work.
func CallsOff(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Clears, func(c plan.Clear) bool { return c.AtWork })
}

// CallsOffRun says whether an event clears away a node run.
func CallsOffRun(e Planned, key backend.Key) bool {
	program, p := e.Plan()
	return len(p.Clears) > 0 && e.Of() == key.Instance && slices.ContainsFunc(p.Clears, func(c plan.Clear) bool {
		return key.Run.Path.Under(c.Path) && slices.Contains(program.Cleared(c.Region).Runs, key.Run.Node)
	})
}

// TakesAll says whether an instance's rows go in the transaction that ends it: it has completed, and
// nothing else can be at work on it.
func TakesAll(e Planned) bool {
	program, p := e.Plan()
	return p.End != nil && p.End.Failure == nil && !program.EndsEarly()
}

// Span is a range of a table's keys: those of a node or variable whose path is Low or greater, but less
// than High. Of a variable, it begins with an element: -1 is its value, and 0 what was appended first.
type Span struct {
	Ord       int32 // of the event that it is of
	Instance  uuid.UUID
	ID        int32
	Low, High string
	First     int32
}

// SortSpans puts them in the order of keys, which is that in which every commit locks.
func SortSpans(all []Span) {
	slices.SortFunc(all, func(a, b Span) int {
		return cmp.Or(slices.Compare(a.Instance[:], b.Instance[:]), cmp.Compare(a.ID, b.ID), strings.Compare(a.Low, b.Low))
	})
}

// OwnRun gives the span of the run that an event is of.
func OwnRun(e Planned) Span {
	run := e.Key().Run
	return only(e, int32(run.Node), run.Path)
}

// only gives the span of one path, without what follows that: there, a dot stands or more.
func only(e Planned, id int32, path graph.Path) Span {
	return Span{Ord: e.Ord(), Instance: e.Of(), ID: id, Low: string(path), High: string(path) + " "}
}

// spans gives what stands under a path for some nodes or variables. In the order of paths, what follows
// a path with a dot ends before the path with a slash; no path has a character beyond 'c'.
func spans[ID ~int32](to []Span, e Planned, ids []ID, under graph.Path) []Span {
	s := Span{Ord: e.Ord(), Instance: e.Of(), Low: string(under), High: string(under) + "/", First: -1}
	if under == "" {
		s.High = "~"
	}
	for _, id := range ids {
		s.ID = int32(id)
		to = append(to, s)
	}
	return to
}

// Drops are what events take away, by table, in the order of keys.
type Drops struct {
	Runs, Counters, Elements, Values []Span
	Ended                            []Planned // what is left of their instances goes, too
}

// DropsOf gives what events unset, and what others clear.
func DropsOf[E Planned](unset, clear []E) *Drops {
	var d Drops
	for _, e := range unset {
		d.unset(e)
	}
	for _, e := range clear {
		d.clear(e)
	}
	for _, all := range [][]Span{d.Runs, d.Counters, d.Elements, d.Values} {
		SortSpans(all)
	}
	return &d
}

// unset takes away the values that an event takes away, and those that were appended to what it replaces.
// An instance that is new has none.
func (d *Drops) unset(e Planned) {
	if e.New() {
		return
	}
	_, p := e.Plan()
	for _, w := range p.Writes {
		if w.Value != nil && !w.Drops {
			continue
		}
		s := only(e, int32(w.Slot.Var), w.Slot.Scope)
		if w.Value == nil {
			s.First = -1
		}
		d.Values = append(d.Values, s)
	}
}

// clear takes away what is over or called off, and all of an instance that has ended and that nothing else
// works on.
func (d *Drops) clear(e Planned) {
	if e.New() {
		return
	}
	program, p := e.Plan()
	for _, cl := range p.Clears {
		cleared := program.Cleared(cl.Region)
		if cl.AtWork { // what else is over has no runs that are open, and no aggregate that is not
			d.Runs = spans(d.Runs, e, cleared.Runs, cl.Path)
			d.Elements = spans(d.Elements, e, cleared.Barriers, cl.Path)
		}
		d.Counters = spans(d.Counters, e, cleared.Barriers, cl.Path)
		d.Values = spans(d.Values, e, cleared.Vars, cl.Path)
	}
	if TakesAll(e) {
		d.Ended = append(d.Ended, e)
	}
}

// AtWork gives where runs may be under way that events call off.
func AtWork[E Planned](events []E) []Span {
	var all []Span
	for _, e := range events {
		program, p := e.Plan()
		for _, cl := range p.Clears {
			if cl.AtWork {
				all = spans(all, e, program.Cleared(cl.Region).Runs, cl.Path)
			}
		}
	}
	return all
}

// Contested is what a transaction locks before it changes anything, in the order of keys, since one before it met others there.
type Contested struct {
	Runs     []Span // that are called off
	Counters []Span // of barriers, each with the path that Low is
}

// Meet adds the barriers that events arrive at, or open.
func (c *Contested) Meet(e Planned) {
	_, p := e.Plan()
	for _, o := range p.Opens {
		c.Counters = append(c.Counters, Span{Instance: e.Of(), ID: int32(o.Run.Node), Low: string(o.Run.Path)})
	}
	for _, a := range p.Arrivals {
		c.Counters = append(c.Counters, Span{Instance: e.Of(), ID: int32(a.Run.Node), Low: string(a.Run.Path)})
	}
}

// Sort puts the barriers in the order of keys, each once.
func (c *Contested) Sort() {
	SortSpans(c.Counters)
	c.Counters = slices.Compact(c.Counters)
}

// LaterLockTimeout is how long, and half as long again at most, a transaction waits for each row after its first round, or after what it has locked first.
// That is out of order: who has the row may be waiting for one of this transaction's own. Postgres cannot insert or count
// without waiting at all, so the wait is short, and far below deadlock_timeout; after it the transaction begins again with
// what it met locked first.
const LaterLockTimeout = 10 * time.Millisecond

// MayWait says whether runs that go on change rows that others change, too.
func MayWait[E Planned](events []E) bool {
	return slices.ContainsFunc(events, func(e E) bool {
		_, p := e.Plan()
		return len(p.Arrivals)+len(p.Opens) > 0 || p.End != nil
	})
}

// Groups says which completions go into one transaction. One that comes after another which would end
// their instance belongs to a later one, in which it is stale if that did. One that calls others off is
// alone of its instance, so that each of those takes place before it or not at all.
func Groups[E Planned](events []E) [][]E {
	var out [][]E
	if !slices.ContainsFunc(events, func(e E) bool {
		_, p := e.Plan()
		return p.End != nil || CallsOff(p)
	}) {
		return append(out, events)
	}
	place := func(i int, e E) {
		for len(out) <= i {
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	next := map[uuid.UUID]int{}
	var last []E
	for _, e := range events {
		switch _, p := e.Plan(); {
		case CallsOff(p):
			last = append(last, e)
		case p.End != nil:
			place(next[e.Of()], e)
			next[e.Of()] = 1
		default:
			place(next[e.Of()], e)
		}
	}
	first := len(out)
	clear(next)
	for _, e := range last {
		place(first+next[e.Of()], e)
		next[e.Of()]++
	}
	return out
}

// Spared leaves those of a group that no completion of the call has called off yet. The others are stale,
// as the store would say.
func Spared[E Planned](group, all []E, out *postgres.Outcomes) []E {
	return slices.DeleteFunc(group, func(e E) bool {
		off := slices.ContainsFunc(all, func(by E) bool {
			_, p := by.Plan()
			return CallsOff(p) && out.Answers[by.Ord()].Answer == backend.Applied && CallsOffRun(by, e.Key())
		})
		if off {
			out.Answer(e.Ord(), backend.Stale)
		}
		return off
	})
}
