package cases

import (
	"errors"
	"fmt"
	"slices"

	"pulley/engine/limit"
)

const limitName = "chaos"

// ordering are the designs that have limits and priorities, and take turns.
var ordering = []string{"push", "journal"}

// validateOrder checks the limit, the priorities and the turns.
func (c Case) validateOrder() error {
	var errs []error
	spec, err := c.Spec()
	if err != nil { // Validate has it
		return nil
	}
	if c.Priorities > 0 && !slices.Contains(ordering, spec.Name()) {
		errs = append(errs, fmt.Errorf("backend %s has no priorities; push and journal have", spec))
	}
	if c.Fair && !slices.Contains(ordering, spec.Name()) {
		errs = append(errs, fmt.Errorf("backend %s takes no turns; push and journal do", spec))
	}
	if c.IsLimited() {
		_, err := c.Limit()
		errs = append(errs, err)
	}
	if c.IsLimited() && c.Soak { // every attempt counts, and would be kept
		errs = append(errs, errors.New("a soak keeps only a part of its history, by which a limit cannot be judged; leave one of them out"))
	}
	return errors.Join(errs...)
}

// PriorityOf is the priority of the i-th instance.
func (c Case) PriorityOf(i int) int { return i % (c.Priorities + 1) }

// IsLimited reports whether the case has a limit.
func (c Case) IsLimited() bool { return c.LimitConcurrency != 0 || c.LimitRate != "" }

// Limit is the limit of the case, of the actions of all its workloads. It fails if the backend has no limits, or if the limit is not
// valid.
func (c Case) Limit() (limit.Limit, error) {
	l := limit.Limit{Name: limitName, Concurrency: c.LimitConcurrency}
	spec, err := c.Spec()
	if err != nil {
		return l, err
	}
	if !slices.Contains(ordering, spec.Name()) {
		return l, fmt.Errorf("backend %s has no limits; push and journal have", spec)
	}
	if c.LimitRate != "" {
		if l.Rate, err = limit.ParseRate(c.LimitRate); err != nil {
			return l, fmt.Errorf("limit_rate: %w", err)
		}
	}
	built, err := c.Build(true)
	if err != nil {
		return l, err
	}
	for _, w := range built.Workloads {
		l.Actions = append(l.Actions, w.Graph.Actions()...)
	}
	slices.Sort(l.Actions)
	l.Actions = slices.Compact(l.Actions)
	if err := l.Validate(); err != nil {
		return l, fmt.Errorf("the limit: %w", err)
	}
	return l, nil
}
