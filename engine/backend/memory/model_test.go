package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// modelRow is a node run in the model: one list, no heaps, no undo.
type modelRow struct {
	key     backend.Key
	at      time.Time // ready or due since, or leased until
	seq     int
	attempt int
	token   int64 // zero: not leased
	done    bool
}

// machine compares a memory backend with the model. Its instances are fan-outs whose elements may be retried once, after ten
// seconds, and which sleep before they end.
type machine struct {
	b     *memory.Backend
	p     *plan.Program
	clock *clock
	crash int // calls of the crash hook until it fails; zero: never
	rows  []*modelRow
	over  map[uuid.UUID]backend.Status
	left  map[uuid.UUID]int // elements that have not completed
	held  []backend.Task    // everything ever leased
	ids   int
	calls int
}

const (
	fanSize   = 3
	fanAsleep = 20 * time.Second
)

func newMachine(t *rapid.T, p *plan.Program) *machine {
	m := &machine{clock: newClock(), p: p, over: map[uuid.UUID]backend.Status{}, left: map[uuid.UUID]int{}}
	m.b = memory.New(memory.Options{Clock: m.clock.Now, Jitter: func() float64 { return 0.5 }, Crash: m.point})
	return m
}

func (m *machine) point(point string) error {
	if memory.Committed(point) {
		return nil // TestCrashAfterCommit covers that
	}
	if m.crash--; m.crash == 0 {
		return fmt.Errorf("%w at %s", errCrash, point)
	}
	return nil
}

func (m *machine) claimable() []*modelRow {
	var due []*modelRow
	for _, r := range m.rows {
		if !r.done && m.over[r.key.Instance] == "" && !r.at.After(m.clock.Now()) {
			due = append(due, r)
		}
	}
	sort.SliceStable(due, func(i, j int) bool {
		if !due[i].at.Equal(due[j].at) {
			return due[i].at.Before(due[j].at)
		}
		return due[i].seq < due[j].seq
	})
	return due
}

func (m *machine) row(key backend.Key) *modelRow {
	i := slices.IndexFunc(m.rows, func(r *modelRow) bool { return r.key == key })
	return m.rows[i]
}

func (m *machine) current(task backend.Task) bool {
	r := m.row(task.Lease.Key)
	return m.over[task.Lease.Key.Instance] == "" && !r.done && r.token == task.Lease.Token
}

func (m *machine) leased(t *rapid.T, tasks []backend.Task, from []*modelRow, g backend.Grant) {
	if want := min(len(from), g.Max); len(tasks) != want {
		t.Fatalf("%d tasks; want %d", len(tasks), want)
	}
	for i, task := range tasks {
		r := from[i]
		if task.Lease.Key != r.key || task.Attempt != r.attempt || task.Lease.Token <= r.token {
			t.Fatalf("task %d is %+v; want %+v", i, task.Lease, *r)
		}
		r.token, r.at = task.Lease.Token, m.clock.Now().Add(g.Lease)
		if !task.Expires.Equal(r.at) {
			t.Fatalf("the lease ends at %s; want %s", task.Expires, r.at)
		}
		m.held = append(m.held, task)
	}
}

// call makes a call that may crash before its commit; then nothing may have changed, and it is repeated.
func (m *machine) call(t *rapid.T, f func() (backend.Committed, error)) backend.Committed {
	before := m.b.Dump()
	m.crash = rapid.IntRange(0, 12).Draw(t, "crash")
	out, err := f()
	crashed := m.crash <= 0 && err != nil
	m.crash = 0
	switch {
	case err == nil:
		return out
	case !crashed || !errors.Is(err, errCrash) || backend.IsUnknown(err):
		t.Fatalf("the call failed: %v", err)
	}
	if after := m.b.Dump(); after != before {
		t.Fatalf("%v, and the store changed from\n%s\nto\n%s", err, before, after)
	}
	out, err = f()
	if err != nil {
		t.Fatalf("the call made again: %v", err)
	}
	return out
}

func (m *machine) grant(t *rapid.T) backend.Grant {
	return backend.Grant{
		Owner: "o", Max: rapid.IntRange(0, 4).Draw(t, "max"),
		Lease: time.Duration(rapid.IntRange(1, 15).Draw(t, "lease")) * time.Second,
	}
}

func (m *machine) Submit(t *rapid.T) {
	m.ids++
	id, g := uuid.UUID{byte(m.ids), byte(m.ids >> 8)}, m.grant(t)
	out := m.call(t, func() (backend.Committed, error) {
		return m.b.Submit(context.Background(), []backend.Submission{{ID: id, Program: m.p, Input: json.RawMessage(`{}`)}}, g)
	})
	var fresh []*modelRow
	for i := range fanSize {
		r := &modelRow{at: m.clock.Now(), seq: len(m.rows) + 1, attempt: 1}
		r.key = backend.Key{Instance: id, Run: m.node(graph.Action)}
		r.key.Run.Path = r.key.Run.Path.Push(i)
		m.rows, fresh = append(m.rows, r), append(fresh, r)
	}
	m.left[id] = fanSize
	m.leased(t, out.Tasks, fresh, g)
	m.outlook(t, out)
}

func (m *machine) node(kind graph.Kind) graph.Run {
	i := slices.IndexFunc(m.p.Graph().Nodes, func(n *graph.Node) bool { return n.Kind == kind })
	return graph.Run{Node: graph.NodeID(i)}
}

func (m *machine) Cancel(t *rapid.T) {
	if rapid.IntRange(0, 20).Draw(t, "mercy") > 0 {
		return
	}
	id := uuid.UUID{byte(rapid.IntRange(1, m.ids+1).Draw(t, "instance"))}
	want := m.over[id]
	if _, there := m.left[id]; there && want == "" {
		want = backend.Canceled
		m.over[id] = want
	}
	var got []backend.Instance
	m.call(t, func() (backend.Committed, error) {
		var err error
		got, err = m.b.Cancel(context.Background(), []uuid.UUID{id}, "no more")
		return backend.Committed{}, err
	})
	if got[0].Status != want {
		t.Fatalf("instance %s is %q; want %q", id, got[0].Status, want)
	}
}

func (m *machine) Claim(t *rapid.T) {
	g := m.grant(t)
	due := m.claimable()
	out := m.call(t, func() (backend.Committed, error) { return m.b.Claim(context.Background(), 0, g) })
	m.leased(t, out.Tasks, due, g)
	m.outlook(t, out)
}

func (m *machine) Complete(t *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	g := m.grant(t)
	from := m.held
	if rapid.IntRange(0, 3).Draw(t, "at random") > 0 {
		if current := slices.DeleteFunc(slices.Clone(m.held), func(t backend.Task) bool { return !m.current(t) }); len(current) > 0 {
			from = current
		}
	}
	task := rapid.SampledFrom(from).Draw(t, "task")
	c := backend.Completion{Lease: task.Lease, Program: m.p, Attempt: task.Attempt, Result: json.RawMessage(task.Lease.Key.Run.Path)}
	if task.Action == "" {
		c.Result = json.RawMessage("null")
	} else if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
		c.Result, c.Failure = nil, flaky()
	}
	current := m.current(task)
	out := m.call(t, func() (backend.Committed, error) {
		return m.b.Complete(context.Background(), 0, []backend.Completion{c}, g)
	})
	want := backend.Stale
	if current {
		want = backend.Applied
		m.apply(c)
	}
	if out.Outcomes[0].Answer != want {
		t.Fatalf("the answer is %q (%v); want %q", out.Outcomes[0].Answer, out.Outcomes[0].Err, want)
	}
	id := task.Lease.Key.Instance
	if ended := len(out.Ended) == 1 && out.Ended[0].Status == m.over[id]; ended != (current && m.over[id] != "") {
		t.Fatalf("ended: %+v; the model is %q", out.Ended, m.over[id])
	}
	m.leased(t, out.Tasks, nil, g)
	m.outlook(t, out)
}

func (m *machine) apply(c backend.Completion) {
	r, id := m.row(c.Lease.Key), c.Lease.Key.Instance
	r.token = 0
	switch {
	case c.Failure == nil:
		r.done = true
		switch m.left[id]--; m.left[id] {
		case 0: // all elements are there
			m.rows = append(m.rows, &modelRow{
				key: backend.Key{Instance: id, Run: m.node(graph.Sleep)}, at: m.clock.Now().Add(fanAsleep), seq: len(m.rows) + 1, attempt: 1,
			})
		case -1:
			m.over[id] = backend.Completed
		}
	case r.attempt > 1:
		m.over[id] = backend.Failed
	default:
		r.at = m.clock.Now().Add(time.Duration(r.attempt) * 10 * time.Second)
		r.attempt++
	}
}

func (m *machine) Extend(t *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	g := m.grant(t)
	task := rapid.SampledFrom(m.held).Draw(t, "task")
	kept, err := m.b.Renew(context.Background(), 0, []backend.Lease{task.Lease}, g)
	if err != nil || kept[0] != m.current(task) {
		t.Fatalf("kept: %v, %v; want %t", kept, err, m.current(task))
	}
	if kept[0] {
		m.row(task.Lease.Key).at = m.clock.Now().Add(g.Lease)
	}
}

func (m *machine) Advance(t *rapid.T) {
	m.clock.Advance(time.Duration(rapid.IntRange(1, 12).Draw(t, "seconds")) * time.Second)
}

func (m *machine) outlook(t *rapid.T, out backend.Committed) {
	if more := len(m.claimable()) > 0; out.More != more {
		t.Fatalf("More is %t; want %t", out.More, more)
	}
	var next time.Time
	for _, r := range m.rows {
		waits := !r.done && m.over[r.key.Instance] == "" && r.token == 0 && r.at.After(m.clock.Now())
		if waits && (next.IsZero() || r.at.Before(next)) {
			next = r.at
		}
	}
	if !out.NextDue.Equal(next) {
		t.Fatalf("next due at %s; want %s", out.NextDue, next)
	}
}

func (m *machine) Check(t *rapid.T) {
	if m.calls++; m.calls%10 != 0 {
		return
	}
	if err := m.b.Check(); err != nil {
		t.Fatal(err)
	}
	for id := range m.left {
		got, err := m.b.Lookup(context.Background(), []uuid.UUID{id})
		if err != nil {
			t.Fatal(err)
		}
		want := m.over[id]
		if want == "" {
			want = backend.Running
		}
		if got[0].Status != want || want == backend.Completed && string(got[0].Result) != `[0,1,2]` {
			t.Fatalf("instance %s is %q with %s; want %q", id, got[0].Status, got[0].Result, want)
		}
	}
}

// TestAgainstModel makes random calls, some of which crash, on a store and on its model.
func TestAgainstModel(t *testing.T) {
	p := backendtest.MustCompile(t, fmt.Sprintf(`
fn main(input: [], output: [r]):
    r = spread range(%d):i -> @noop(i=i) [retry: 1, backoff: 10s]
    sleep %d
`, fanSize, fanAsleep/time.Second))
	ends := map[backend.Status]int{}
	t.Cleanup(func() {
		if t.Logf("ends: %v", ends); !t.Failed() && (ends[backend.Completed] == 0 || ends[backend.Failed] == 0 || ends[backend.Canceled] == 0) {
			t.Errorf("inconclusive: instances ended as %v; want some of each", ends)
		}
	})
	depth.Checks(t, 40, 1000)
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, p)
		for range 3 { // a few instances must reach their ends
			t.Repeat(map[string]func(*rapid.T){
				"submit": m.Submit, "claim": m.Claim, "claim more": m.Claim, "complete": m.Complete, "complete more": m.Complete,
				"complete most": m.Complete, "extend": m.Extend, "cancel": m.Cancel, "advance": m.Advance, "": m.Check,
			})
		}
		for _, status := range m.over {
			ends[status]++
		}
	})
}
