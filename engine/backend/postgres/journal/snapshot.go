package journal

import (
	"encoding/json"
	"fmt"
	"time"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
)

// snapshotEvents is the minimal number of events that a snapshot replaces. A larger state gets its snapshot later. So snapshots
// write only a fraction of what events do, and loading an instance reads only a multiple of its state.
const snapshotEvents = 256

// snapshotDue reports whether an instance has enough events for a snapshot. It measures the state only after each further quarter
// of the events.
func (inst *instance) snapshotDue() bool {
	n := len(inst.events)
	if n < snapshotEvents || n < inst.nextSnapshotCheck {
		return false
	}
	need := snapshotEvents + inst.weight()
	inst.nextSnapshotCheck = max(need, n+n/4)
	return n >= need
}

// weight measures the state. What only grows, such as a list built in a loop, counts half: its next snapshot comes when it has
// doubled.
func (inst *instance) weight() int {
	n := 0
	inst.Barriers.Each(func(_ state.Address, bar *state.Barrier) { n += 1 + int(bar.Completed) })
	inst.Slots.Each(func(_ state.Address, v state.Value) { n += 1 + len(v.Appended) })
	return n/2 + 2*inst.Runs.Len()
}

// writtenState is a snapshot. Values are bytes, so that they keep their spelling.
type writtenState struct {
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
	After   time.Duration   `json:"after,omitempty"` // after the event; zero: does not wait
	Noted   int32           `json:"noted,omitempty"` // durable deliveries
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

func (t *tx) snapshot(inst *instance, token int64) error {
	var s writtenState
	var failed error
	for _, r := range inst.RunsInOrder() {
		args, err := backend.EncodeArgs(r.Args)
		if err != nil {
			failed = err
		}
		out := stateRun{Node: r.Key.Node, Path: r.Key.Path, Action: r.Action, Args: args, Attempt: r.Attempt, Noted: r.Noted}
		if r.Place == state.Waiting {
			out.After = max(time.Duration(r.Due-t.Now), 1)
		}
		s.Runs = append(s.Runs, out)
	}
	inst.Barriers.Each(func(a state.Address, bar *state.Barrier) {
		out := stateBarrier{Node: graph.NodeID(a.ID), Path: a.Path, Required: bar.Required, Completed: bar.Completed, Soft: bar.Soft}
		for _, e := range bar.Elements {
			out.Elements = append(out.Elements, e)
		}
		s.Barriers = append(s.Barriers, out)
	})
	inst.Slots.Each(func(a state.Address, v state.Value) {
		out := stateSlot{Var: graph.VarID(a.ID), Scope: a.Path, Base: v.Base}
		for _, x := range v.Appended {
			out.Appended = append(out.Appended, x)
		}
		s.Slots = append(s.Slots, out)
	})
	if failed != nil {
		return failed
	}
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("instance %s: its state: %w", inst.ID, err)
	}
	t.events = append(t.events, pendingEvent{inst: inst, kind: journalstore.KindSnapshot, timed: true, token: token, data: data})
	return nil
}

func (t *tx) restore(inst *instance, data []byte) error {
	var s writtenState
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("instance %s: its state: %w", inst.ID, err)
	}
	inst.Runs, inst.Barriers, inst.Slots = state.Table[*state.Run]{}, state.Table[*state.Barrier]{}, state.Table[state.Value]{}
	for _, r := range s.Runs {
		args, err := backend.DecodeArgs(r.Args)
		if err != nil {
			return err
		}
		t.Space.Orders++
		restored := &state.Run{
			Inst: &inst.Instance, Key: graph.Run{Node: r.Node, Path: r.Path}, Action: r.Action, Args: args, Order: t.Space.Orders,
			RunState: state.RunState{Place: state.Ready, Attempt: r.Attempt, Counted: r.Noted, Noted: r.Noted},
		}
		if r.After > 0 {
			restored.Place, restored.Due = state.Waiting, t.Now+int64(r.After)
		}
		inst.Runs.Put(state.OfRun(restored.Key), restored)
	}
	for _, bar := range s.Barriers {
		out := &state.Barrier{Counts: state.Counts{Required: bar.Required, Completed: bar.Completed, Soft: bar.Soft}}
		for _, e := range bar.Elements {
			out.Elements = append(out.Elements, e)
		}
		inst.Barriers.Put(state.OfRun(graph.Run{Node: bar.Node, Path: bar.Path}), out)
	}
	for _, v := range s.Slots {
		out := state.Value{Base: v.Base}
		for _, x := range v.Appended {
			out.Appended = append(out.Appended, x)
		}
		inst.Slots.Put(state.OfSlot(plan.Slot{Var: v.Var, Scope: v.Scope}), out)
	}
	return nil
}
