package differ

import (
	"context"
	"errors"
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/oracle"
	"pulley/engine/plan"
	"pulley/engine/reference"
)

// Store is a backend, with access to its store beyond the contract. It may hold other instances.
type Store struct {
	Backend backend.Backend

	// Leftovers counts what the store holds for ended instances, by table.
	Leftovers func(ctx context.Context) (map[string]int, error)

	// Advance moves the store's clock; nil: it is real time.
	Advance func(d time.Duration)

	// Crash installs a function that every step of a call asks whether it fails; it may be nil. A nil Crash: the store does not
	// support it.
	Crash func(func(point string) error)
}

// Report is the result of a case.
type Report struct {
	Skipped  bool // the reference does not decide: too many outcomes are right
	Status   reference.Status
	Caught   bool // an action's failure was caught
	Calls    int  // of actions, by the reference
	Outcomes int  // number of right ones
}

// outcomesMax bounds the tried runs of the reference; branches that fail in many ways have more.
const outcomesMax = 100

// caseTimeout bounds one case; none takes a hundredth of it.
const caseTimeout = 5 * time.Minute

// Run runs a case. The error tells how the run differs from the reference, or why there was none.
func Run(ctx context.Context, c Case, s Store) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	r, err := prepare(c)
	if err != nil || r.report.Skipped {
		return r.report, err
	}
	d := newConductor(c, s, r.program, r.actions)
	if err := d.run(ctx); err != nil {
		return r.report, fmt.Errorf("%w\nthe reference interpreter gives: %s", err, describe(r.outcomes[0]))
	}
	return r.report, r.judge(d)
}

type prepared struct {
	program  *plan.Program
	actions  *actions
	outcomes []reference.Outcome
	report   Report
}

func prepare(c Case) (prepared, error) {
	r := prepared{}
	tree, err := ir.Parse("case.ir", []byte(c.Source), ir.Limits{})
	if err != nil {
		return r, fmt.Errorf("the program does not parse: %w", err)
	}
	g, err := graph.Compile(tree, ir.Limits{})
	if err != nil {
		return r, fmt.Errorf("the program does not compile: %w", err)
	}
	if r.program, err = plan.Compile(g); err != nil {
		return r, fmt.Errorf("the graph cannot be made ready: %w", err)
	}
	interpreter, err := reference.NewInterpreter(tree, ir.Limits{})
	if err != nil {
		return r, fmt.Errorf("the reference refuses the program: %w", err)
	}
	if r.actions, err = newActions(); err != nil {
		return r, err
	}
	outcomes, all := interpreter.Possible(c.Input, r.actions.reference(), reference.Options{}, outcomesMax)
	first := outcomes[0]
	if first.Status == reference.Refused {
		return r, fmt.Errorf("the reference refuses the input: %w", first.Error)
	}
	r.outcomes = outcomes
	r.report = Report{
		Skipped: !all || first.Status == reference.Undecided, Status: first.Status, Calls: len(first.Calls), Outcomes: len(outcomes),
	}
	for _, call := range first.Calls {
		r.report.Caught = r.report.Caught || call.Err != nil && first.Status == reference.Completed
	}
	return r, nil
}

func (r *prepared) judge(d *conductor) error {
	rules := oracle.Rules{
		Invariants:  []string{"I1", "I3", "I4", "I5", "I7", "I8", "I9", "I10"},
		Graph:       func(string) *graph.Graph { return r.program.Graph() },
		Outcomes:    func(string) []reference.Outcome { return r.outcomes },
		Partial:     d.answerLost,
		CommitOrder: true,
	}
	report, err := oracle.Check(d.history, rules)
	if err != nil {
		return fmt.Errorf("the history is not valid: %w", err)
	}
	needed := map[string]bool{"I7": true, "I9": true, "I10": true}
	var found []error
	for _, v := range report {
		if v.Result == oracle.Violated || v.Result == oracle.Inconclusive && needed[v.Invariant] {
			found = append(found, errors.New(v.String()))
		}
	}
	return errors.Join(found...)
}

func describe(o reference.Outcome) string {
	if o.Error != nil {
		return fmt.Sprintf("%s with %s", o.Status, o.Error)
	}
	return fmt.Sprintf("%s with %s", o.Status, reference.Canonical(o.Result))
}
