package cases

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pulley/engine/ir"
	"pulley/scenarios"
)

// Workload is a scenario with a size, or a program of scenarios.Programs, which has none.
type Workload struct {
	Scenario string            `json:"scenario"`
	Size     int               `json:"size,omitempty"` // zero: the scenario's smallest default
	Set      map[string]string `json:"set,omitempty"`  // changed parameters of the scenario

	// Bundle is the text of a scenario that is not built in, so that the case can be repeated after its files have changed.
	Bundle *scenarios.Bundle `json:"bundle,omitempty"`

	// Program replaces the scenario; Scenario is then its name, FILE.py:Class.
	Program *Program `json:"program,omitempty"`
}

// Streams are the workloads of a case's instances, which take the mixes in turn.
type Streams struct {
	mixes     []*scenarios.Mix
	first     []int // by mix: index of its first workload
	Workloads []scenarios.Workload
	Programs  []*Program // by workload: the program whose actions run in processes; nil: the engine runs them
}

// Of returns the index of the i-th instance's workload.
func (s *Streams) Of(i int) int {
	m := i % len(s.mixes)
	order := s.mixes[m].Order
	return s.first[m] + order[i/len(s.mixes)%len(order)]
}

// Build makes the workloads; unjudged omits what only judging needs.
func (c Case) Build(unjudged bool) (*Streams, error) {
	if len(c.Workloads) == 0 {
		return nil, errors.New("no workload; name a scenario")
	}
	s := &Streams{}
	for _, l := range c.Workloads {
		m, err := l.build(unjudged)
		if err != nil {
			return nil, err
		}
		for i := range m.Workloads {
			if err := l.judgeable(&m.Workloads[i], timeoutLeases*c.Lease()); err != nil {
				return nil, err
			}
		}
		s.mixes, s.first = append(s.mixes, m), append(s.first, len(s.Workloads))
		s.Workloads = append(s.Workloads, m.Workloads...)
		for range m.Workloads {
			s.Programs = append(s.Programs, l.Program)
		}
	}
	return s, nil
}

// timeoutLeases is the minimum of a timeout in leases, so that no paused process exceeds it.
const timeoutLeases = 10

// judgeable refuses a workload whose right result is unknown under faults. A workload that is not built in must have no timeout
// below the given one.
func (l Workload) judgeable(w *scenarios.Workload, timeout time.Duration) error {
	switch {
	case w.Source == "":
		return fmt.Errorf("scenario %s is a graph without a program, so that there is no reference to hold it against; choose another", w.Name)
	case w.Unchecked.Results:
		return fmt.Errorf("scenario %s says that results are not checked, and here they are what is judged; choose another", w.Name)
	}
	for _, n := range w.Graph.Nodes {
		if n.Timeout > 0 && n.Timeout < timeout && (l.Bundle != nil || l.Program != nil) {
			return fmt.Errorf("%s: @%s has a timeout of %v, which may pass while processes stand still, and how the instance ends then is not known beforehand; give it %v or more, or leave it out", place(l, n.Pos), n.Action, n.Timeout, timeout)
		}
	}
	return nil
}

// place names a node's position. Positions in a program's translation mean nothing to its author.
func place(l Workload, at ir.Pos) string {
	if l.Program != nil {
		return l.Scenario
	}
	return at.String()
}

// Name returns the scenario as a user names it.
func (l Workload) Name() string {
	if l.Size > 0 {
		return fmt.Sprintf("%s=%d", l.Scenario, l.Size)
	}
	return l.Scenario
}

func (l Workload) build(unjudged bool) (*scenarios.Mix, error) {
	if l.Program != nil {
		return l.Program.workload(l.Scenario)
	}
	var s scenarios.Scenario
	var err error
	if l.Bundle != nil {
		s, err = scenarios.FromBundle(*l.Bundle)
	} else if s, err = scenarios.Find(l.Scenario); err != nil {
		return l.program(err)
	}
	if err != nil {
		return nil, err
	}
	size := l.Size
	if size == 0 {
		size = s.DefaultSizes[0]
	}
	return s.Mix(size, scenarios.Options{Seed: 1, Set: l.Set, Unjudged: unjudged})
}

func (l Workload) program(noScenario error) (*scenarios.Mix, error) {
	list, err := scenarios.Programs()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p scenarios.Program) bool { return p.Name == l.Scenario })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%w; nor is there such a program in scenarios/programs", noScenario)
	case l.Size != 0 || len(l.Set) > 0:
		return nil, fmt.Errorf("%s is a program, which has no size and no parameters", l.Scenario)
	}
	w, err := list[i].Workload(ir.Limits{})
	return scenarios.Alone(w), err
}
