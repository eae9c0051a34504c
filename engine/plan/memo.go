package plan

import (
	"encoding/binary"
	"encoding/json"

	"pulley/engine/graph"
)

type memo struct {
	starts map[string]Plan
	steps  map[string]Plan
	key    []byte
}

// Remembering returns a copy of the program that makes each plan once: a simulation takes the same steps thousands of times.
// The copy is not safe for concurrent use and keeps everything; its plans must not be changed.
func (p *Program) Remembering() *Program {
	again := *p
	again.memo = &memo{starts: map[string]Plan{}, steps: map[string]Plan{}}
	return &again
}

func (m *memo) start(p *Program, input json.RawMessage) (Plan, error) {
	if plan, ok := m.starts[string(input)]; ok {
		return plan, nil
	}
	plan, err := p.start(input)
	if err == nil {
		m.starts[string(input)] = plan
	}
	return plan, err
}

// step does not keep a retry, which also depends on the jitter.
func (m *memo) step(p *Program, ev Event, inbox Inbox, jitter float64) (Plan, error) {
	if !m.write(p, &ev, &inbox) {
		return p.step(ev, inbox, jitter)
	}
	if plan, ok := m.steps[string(m.key)]; ok {
		return plan, nil
	}
	key := string(m.key)
	plan, err := p.step(ev, inbox, jitter)
	if err == nil && plan.Retry == nil {
		m.steps[key] = plan
	}
	return plan, err
}

// write reports false if the inbox has values that the event does not need.
func (m *memo) write(p *Program, ev *Event, inbox *Inbox) bool {
	m.key = m.key[:0]
	m.run(ev.Run)
	m.number(ev.Attempt)
	switch f := ev.Failure; {
	case ev.Fired:
		m.number(0)
	case f == nil:
		m.number(1)
		m.text(ev.Result)
	default:
		m.number(2)
		m.text([]byte(f.Type))
		m.text([]byte(f.Message))
	}
	found, lists := 0, 0
	for i, slot := range p.Needs(*ev).Slots {
		raw, ok := inbox.Values[slot]
		if !ok {
			continue
		}
		found++
		m.number(i)
		m.text(raw)
		list, ok := inbox.Appended[slot]
		if ok {
			lists++
		}
		m.number(len(list))
		for _, a := range list {
			m.number(a.Index)
			m.text(a.Value)
		}
	}
	m.number(-1)
	for _, e := range inbox.Elements {
		m.run(e.Barrier)
		m.number(e.Index)
		m.text(e.Value)
	}
	return found == len(inbox.Values) && lists == len(inbox.Appended)
}

func (m *memo) run(r graph.Run) {
	m.number(int(r.Node))
	m.number(len(r.Path))
	m.key = append(m.key, r.Path...)
}

func (m *memo) number(n int) { m.key = binary.AppendVarint(m.key, int64(n)) }

func (m *memo) text(b []byte) {
	m.number(len(b))
	m.key = append(m.key, b...)
}
