package pull

import (
	"encoding/json"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/plan"
)

// place holds what stands at one path of an instance that is replayed, and leads to the paths that
// continue it: what is called off or over goes with a look at what is there, not at everything.
type place struct {
	next     map[string]*place
	runs     map[graph.NodeID]plan.Enqueue // enqueued, and not completed
	barriers map[graph.NodeID]*barrier
	elements map[graph.NodeID][]plan.Element
	values   map[graph.VarID]json.RawMessage
	appended map[graph.VarID][]plan.Append
}

// barrier is a readiness counter in memory.
type barrier struct {
	required, completed int
	soft                bool
}

// at gives the place of a path, which is made if it is not there.
func (p *place) at(path graph.Path) *place {
	if path == "" {
		return p
	}
	head, rest, _ := strings.Cut(string(path), ".")
	next := p.next[head]
	if next == nil {
		next = &place{}
		put(&p.next, head, next)
	}
	return next.at(graph.Path(rest))
}

// find gives the place of a path, and an empty one where nothing stands.
func (p *place) find(path graph.Path) *place {
	if path == "" {
		return p
	}
	head, rest, _ := strings.Cut(string(path), ".")
	if next := p.next[head]; next != nil {
		return next.find(graph.Path(rest))
	}
	return &place{}
}

// clear takes away what is listed from the place of a path and all that continue it, and says whether
// nothing is left here.
func (p *place) clear(path graph.Path, what plan.Cleared) bool {
	if path != "" {
		head, rest, _ := strings.Cut(string(path), ".")
		if next := p.next[head]; next != nil && next.clear(graph.Path(rest), what) {
			delete(p.next, head)
		}
		return p.empty()
	}
	for _, n := range what.Runs {
		delete(p.runs, n)
	}
	for _, n := range what.Barriers {
		delete(p.barriers, n)
		delete(p.elements, n)
	}
	for _, v := range what.Vars {
		delete(p.values, v)
		delete(p.appended, v)
	}
	for part, next := range p.next {
		if next.clear("", what) {
			delete(p.next, part)
		}
	}
	return p.empty()
}

func (p *place) empty() bool {
	return len(p.next)+len(p.runs)+len(p.barriers)+len(p.elements)+len(p.values)+len(p.appended) == 0
}

// put stores in a map that is made when it is first needed: most places hold little.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}
