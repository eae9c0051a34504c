package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// snapshotEvents is how many events an instance has at least before its state is written down in their stead. The
// more there is of state, the later: what all snapshots write stays a part of what all events have written, and
// what loading reads of an instance a multiple of its state.
const snapshotEvents = 256

// snapshotDue says whether an instance has so many events that its state is to be written down. What there is of
// state is counted at times only, each a quarter more events later than the last.
func (inst *instance) snapshotDue() bool {
	n := len(inst.events)
	if n < snapshotEvents || n < inst.look {
		return false
	}
	need := snapshotEvents + inst.weight()
	inst.look = max(need, n+n/4)
	return n >= need
}

// weight says how much of state there is. What only grows, such as a list that a loop makes, counts half: it is
// written down again when there is twice of it.
func (inst *instance) weight() int {
	n := 0
	inst.barriers.each(func(_ address, bar *barrier) { n += 1 + int(bar.completed) })
	inst.slots.each(func(_ address, v value) { n += 1 + len(v.appended) })
	return n/2 + 2*inst.runs.len()
}

// state is an instance as an event has it. Values are bytes, so that they keep their spelling.
type state struct {
	Runs     []stateRun     `json:"runs,omitempty"`
	Barriers []stateBarrier `json:"barriers,omitempty"`
	Slots    []stateSlot    `json:"slots,omitempty"`
}

type stateRun struct {
	Node    graph.NodeID    `json:"node"`
	Path    graph.Path      `json:"path,omitempty"`
	Action  string          `json:"action,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Attempt int32           `json:"attempt"`
	After   time.Duration   `json:"after,omitempty"` // from the event; where it waits for its time
}

type stateBarrier struct {
	Node      graph.NodeID `json:"node"`
	Path      graph.Path   `json:"path,omitempty"`
	Required  int32        `json:"required"`
	Completed int32        `json:"completed"`
	Soft      bool         `json:"soft,omitempty"`
	Elements  [][]byte     `json:"elements,omitempty"`
}

type stateSlot struct {
	Var      graph.VarID `json:"var"`
	Scope    graph.Path  `json:"scope,omitempty"`
	Base     []byte      `json:"base"`
	Appended [][]byte    `json:"appended,omitempty"`
}

// snapshot notes the state of an instance as an event.
func (t *tx) snapshot(inst *instance, token int64) error {
	var s state
	var failed error
	for _, r := range inst.inOrder() {
		args, err := backend.EncodeArgs(r.args)
		if err != nil {
			failed = err
		}
		out := stateRun{Node: r.key.Node, Path: r.key.Path, Action: r.action, Args: args, Attempt: r.attempt}
		if r.place == waiting {
			out.After = max(time.Duration(r.due-t.now), 1)
		}
		s.Runs = append(s.Runs, out)
	}
	inst.barriers.each(func(a address, bar *barrier) {
		out := stateBarrier{Node: graph.NodeID(a.id), Path: a.path, Required: bar.required, Completed: bar.completed, Soft: bar.soft}
		for _, e := range bar.elements {
			out.Elements = append(out.Elements, e)
		}
		s.Barriers = append(s.Barriers, out)
	})
	inst.slots.each(func(a address, v value) {
		out := stateSlot{Var: graph.VarID(a.id), Scope: a.path, Base: v.base}
		for _, x := range v.appended {
			out.Appended = append(out.Appended, x)
		}
		s.Slots = append(s.Slots, out)
	})
	if failed != nil {
		return failed
	}
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("instance %s: its state: %w", inst.id, err)
	}
	t.events = append(t.events, event{inst: inst, kind: kindSnapshot, timed: true, token: token, data: data})
	return nil
}

// inOrder lists an instance's node runs in the order of their enqueues.
func (inst *instance) inOrder() []*run {
	runs := make([]*run, 0, inst.runs.len())
	inst.runs.each(func(_ address, r *run) { runs = append(runs, r) })
	slices.SortFunc(runs, func(a, b *run) int { return cmp.Compare(a.order, b.order) })
	return runs
}

// restore makes an instance what a snapshot says.
func (t *tx) restore(inst *instance, data []byte) error {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("instance %s: its state: %w", inst.id, err)
	}
	inst.runs, inst.barriers, inst.slots = table[*run]{}, table[*barrier]{}, table[value]{}
	for _, r := range s.Runs {
		args, err := backend.DecodeArgs(r.Args)
		if err != nil {
			return err
		}
		t.sh.orders++
		restored := &run{
			inst: inst, key: graph.Run{Node: r.Node, Path: r.Path}, action: r.Action, args: args, order: t.sh.orders,
			runState: runState{place: ready, attempt: r.Attempt},
		}
		if r.After > 0 {
			restored.place, restored.due = waiting, t.now+int64(r.After)
		}
		inst.runs.put(ofRun(restored.key), restored)
	}
	for _, bar := range s.Barriers {
		out := &barrier{required: bar.Required, completed: bar.Completed, soft: bar.Soft}
		for _, e := range bar.Elements {
			out.elements = append(out.elements, e)
		}
		inst.barriers.put(ofRun(graph.Run{Node: bar.Node, Path: bar.Path}), out)
	}
	for _, v := range s.Slots {
		out := value{base: v.Base}
		for _, x := range v.Appended {
			out.appended = append(out.appended, x)
		}
		inst.slots.put(ofSlot(plan.Slot{Var: v.Var, Scope: v.Scope}), out)
	}
	return nil
}
