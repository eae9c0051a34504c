package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/yamlfile"
	"pulley/scenarios/behaviour"
)

// checkSteps bounds the reference interpreter for a size that is only checked.
const checkSteps = 500_000

// check finds mistakes before anything runs: in the smallest default size, and in expectations that the reference interpreter
// contradicts there.
func (s *spec) check(r *yamlfile.Report) { s.checkSize(r, s.sizes.list[0], true) }

// CheckSizes checks all default sizes. The error is yamlfile.Mistakes.
func (s Scenario) CheckSizes() error {
	var r yamlfile.Report
	for i, size := range s.DefaultSizes {
		if i > 0 || s.spec.files.ships { // a file was checked when it was read
			s.spec.checkSize(&r, size, false)
		}
	}
	return r.Err()
}

// checkProgram also checks whether the program calls the described actions, even if the file has other mistakes.
func (s *spec) checkProgram(r *yamlfile.Report) {
	p, is := s.body.(*programBody)
	if !is || s.files.ships {
		return
	}
	tree, err := ir.Parse(p.file, p.text, ir.Limits{})
	if err != nil {
		r.AddError(p.pos, err)
		return
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		r.AddError(p.pos, err)
		return
	}
	called := g.Actions()
	for _, a := range s.actions {
		if !slices.Contains(called, a.Name) {
			r.Add(s.actionsAt[a.Name], "action %s is described, and the program does not call it; it calls @%s", a.Name, strings.Join(called, ", @"))
		}
	}
	r.AddError(p.pos, s.takes(g.Inputs))
	if known, err := behaviour.New(0, s.actions...); err == nil {
		r.AddError(p.pos, errors.Join(known.Check(g)...))
	}
}

// checkSize accepts a size that is only checked and too large to decide.
func (s *spec) checkSize(r *yamlfile.Report, size int, first bool) {
	b, err := s.building(size, Options{})
	if err != nil {
		r.AddError(s.pos, err)
		return
	}
	b.verify = true
	if !first {
		b.steps = checkSteps
	}
	if _, mixed := s.body.(*mixBody); !mixed {
		f, err := b.flow()
		if err != nil {
			r.AddError(s.sizes.pos, s.ofSize(size, err))
			return
		}
		if _, program := s.body.(*programBody); !program || s.files.ships {
			if wrong := b.actions.Check(f.graph); len(wrong) > 0 {
				r.AddError(s.body.position(), errors.Join(wrong...))
				return
			}
		}
		if _, err := plan.Compile(f.graph); err != nil {
			r.AddError(s.body.position(), err)
			return
		}
	}
	m, err := b.mix()
	if err == nil {
		_, err = Executor(m.Workloads...)
	}
	if errors.Is(err, errUndecided) && !first {
		return
	}
	r.AddError(s.checkPos(), s.ofSize(size, err))
}

func (s *spec) checkPos() ir.Pos {
	if m, is := s.body.(*mixBody); is {
		return m.pos
	}
	return s.sizes.pos
}

func (s *spec) ofSize(size int, err error) error {
	var placed *ir.Error
	if err == nil || s.sizes.fixed || errors.As(err, &placed) {
		return err
	}
	return fmt.Errorf("size %d: %w", size, err)
}

func (b *building) warnings(f flow) []string {
	list := b.actions.Timeouts(f.graph)
	for _, d := range b.spec.actions {
		if len(d.Fails) > 0 && b.variants == 1 && slices.Contains(f.graph.Actions(), d.Name) {
			list = append(list, fmt.Sprintf("%s: @%s fails by its arguments, and all instances have the same input: the same attempts fail in each; write variants: 16, and an input that reads instance",
				b.actionsAt[d.Name], d.Name))
		}
	}
	return list
}
