package bench

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/engine/worker"
	"pulley/scenarios"
)

type instanceBatch struct {
	mix      *scenarios.Mix
	programs []*plan.Program // by workload of the mix
	expected []expectation
	executor worker.Executor
}

func (c *Case) mix() *scenarios.Mix {
	if c.Mix == nil {
		return scenarios.Alone(c.Workload)
	}
	return c.Mix
}

// check rejects a case that calls unknown actions.
func (c *Case) check() error {
	m := c.mix()
	for i := range m.Workloads {
		w := &m.Workloads[i]
		if i > 0 && w.Graph == m.Workloads[i-1].Graph {
			continue
		}
		if err := w.Calls().Timed().Check(w.Graph); err != nil {
			return err
		}
	}
	return nil
}

func newInstanceBatch(k *Case) (*instanceBatch, error) {
	l := &instanceBatch{mix: k.mix()}
	compiled := map[*graph.Graph]*plan.Program{}
	for i := range l.mix.Workloads {
		w := &l.mix.Workloads[i]
		if compiled[w.Graph] == nil {
			p, err := plan.Compile(w.Graph)
			if err != nil {
				return nil, err
			}
			compiled[w.Graph] = p
		}
		want, err := newExpectation(w)
		if err != nil {
			return nil, err
		}
		l.programs, l.expected = append(l.programs, compiled[w.Graph]), append(l.expected, want)
	}
	var err error
	l.executor, err = scenarios.Executor(l.mix.Workloads...)
	return l, err
}

func (l *instanceBatch) of(i int) int { return l.mix.Order[i%len(l.mix.Order)] }

// wholeTurns rounds a number of instances up to whole turns, if it exceeds one turn of several workloads.
func (l *instanceBatch) wholeTurns(instances int) int {
	turn := len(l.mix.Order)
	if instances > turn {
		return (instances + turn - 1) / turn * turn
	}
	return instances
}

func (l *instanceBatch) request(i int, id uuid.UUID) engine.SubmitRequest {
	of := l.of(i)
	return engine.SubmitRequest{ID: id, Program: l.programs[of], Input: l.mix.Workloads[of].Input}
}

func (l *instanceBatch) check(i int, in backend.Instance) error { return l.expected[l.of(i)].check(in) }

func (l *instanceBatch) nodes(i int) (least, most int) {
	w := &l.mix.Workloads[l.of(i)]
	return w.Nodes - w.Optional, w.Nodes
}

type expectation struct {
	workload *scenarios.Workload
	text     json.RawMessage // every instance's result, without white space; nil: several ends are right
	value    expr.Value
}

func newExpectation(w *scenarios.Workload) (expectation, error) {
	out := expectation{workload: w}
	if w.Expected == nil {
		if len(w.Ends) == 0 && !w.Unchecked.Results {
			return out, fmt.Errorf("%s: nothing says how its instances should end", w.Name)
		}
		return out, nil
	}
	var err error
	if out.value, err = expr.Decode(w.Expected, expr.Unlimited); err != nil {
		return out, fmt.Errorf("the expected result cannot be read: %w", err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, w.Expected); err != nil {
		return out, fmt.Errorf("the expected result cannot be read: %w", err)
	}
	out.text = compact.Bytes()
	return out, nil
}

// check compares values: the spelling of JSON does not matter, an int is an int. Most results are spelled as expected, and need
// no parsing.
func (w expectation) check(in backend.Instance) error {
	switch {
	case w.workload.Unchecked.Results && in.Status != backend.Canceled:
		return nil
	case w.text == nil:
		return w.differs(in)
	case in.Status != backend.Completed:
		return fmt.Errorf("instance %s %s: %s", in.ID, in.Status, in.Failure)
	case bytes.Equal(in.Result, w.text):
		return nil
	}
	got, err := expr.Decode(in.Result, expr.Unlimited)
	if err != nil {
		return fmt.Errorf("instance %s: the result cannot be read: %w", in.ID, err)
	}
	if !expr.Equal(got, w.value) {
		return fmt.Errorf("instance %s: the result is %.200s, not %.200s", in.ID, in.Result, w.text)
	}
	return nil
}

func (w expectation) differs(in backend.Instance) error {
	end := reference.End{Status: reference.Status(in.Status), Result: in.Result}
	if f := in.Failure; f != nil {
		end.Error = &reference.Error{Type: f.Type, Message: f.Message, Action: f.Action, Pos: f.Pos}
	}
	if d := w.workload.Differs(end); d != "" {
		return fmt.Errorf("instance %s: %s", in.ID, d)
	}
	return nil
}
