package backendtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pair struct {
	id  uuid.UUID
	p   *plan.Program
	rec *backendtest.Recording
}

const (
	nodeA = graph.NodeID(1)
	nodeB = graph.NodeID(2)
)

func newPair(t *testing.T) *pair {
	t.Helper()
	b := graph.New("pair")
	first := b.Action("a", "noop")
	second := b.Action("b", "noop").After(first)
	b.Output("b").After(second)
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.UUID{1}
	end := backend.Instance{ID: id, Status: backend.Completed, Result: json.RawMessage("1")}
	h := &pair{id: id, p: p, rec: &backendtest.Recording{
		Programs:  map[uuid.UUID]*plan.Program{id: p},
		Instances: map[uuid.UUID]backend.Instance{id: end},
	}}
	h.rec.Steps = []backendtest.Step{
		{Kind: backendtest.Submitted, Instance: id, Answer: backend.Applied, Begin: 1, End: 2},
		h.leased(nodeA, 1, 1, 2),
		h.answered(nodeA, 1, 3, 4),
		h.leased(nodeB, 2, 3, 4),
		h.answered(nodeB, 2, 5, 6),
		{Kind: backendtest.Ended, Instance: id, Outcome: end, Begin: 5, End: 6},
	}
	return h
}

func (h *pair) lease(node graph.NodeID, token int64) backend.Lease {
	return backend.Lease{Key: backend.Key{Instance: h.id, Run: graph.Run{Node: node}}, Token: token}
}

func (h *pair) leased(node graph.NodeID, token, begin, end int64) backendtest.Step {
	return backendtest.Step{
		Kind: backendtest.Leased, Instance: h.id, Lease: h.lease(node, token), Attempt: 1,
		Args: json.RawMessage("{}"), Begin: begin, End: end,
	}
}

func (h *pair) answered(node graph.NodeID, token, begin, end int64) backendtest.Step {
	return backendtest.Step{
		Kind: backendtest.Answered, Instance: h.id, Lease: h.lease(node, token), Attempt: 1,
		Answer: backend.Applied, Begin: begin, End: end,
	}
}

func (h *pair) add(s backendtest.Step) { h.rec.Steps = append(h.rec.Steps, s) }

// planted are the good history with one error each, and a few that are right after all.
var planted = []struct {
	name string
	want string // the invariant; empty: no error
	do   func(*pair)
}{
	{"good", "", func(*pair) {}},
	{"reclaimed, the old one stale", "", func(h *pair) {
		late := h.answered(nodeA, 0, 3, 4)
		late.Answer = backend.Stale
		h.rec.Steps = append(h.rec.Steps[:1:1], append([]backendtest.Step{h.leased(nodeA, 0, 1, 1), late}, h.rec.Steps[1:]...)...)
	}},
	{"handed out after success", "I1", func(h *pair) { h.add(h.leased(nodeA, 9, 7, 8)) }},
	{"handed out after success as a retry", "I1", func(h *pair) {
		s := h.leased(nodeA, 9, 7, 8)
		s.Attempt = 2
		h.add(s)
	}},
	{"attempts with a gap", "I1", func(h *pair) { h.rec.Steps[3].Attempt = 2 }},
	{"attempt zero", "I1", func(h *pair) { h.rec.Steps[3].Attempt = 0 }},
	{"other arguments", "I1", func(h *pair) {
		s := h.leased(nodeB, 9, 4, 5)
		s.Args = json.RawMessage(`{"x":1}`)
		h.add(s)
	}},
	{"overflow", "I2", func(h *pair) {
		s := h.answered(nodeB, 2, 7, 8)
		s.Answer, s.Err = backend.Refused, fmt.Errorf("barrier: %w", backend.ErrOverflow)
		h.add(s)
	}},
	{"applied twice", "I3", func(h *pair) { h.add(h.answered(nodeB, 2, 7, 8)) }},
	{"applied with an old token", "I3", func(h *pair) {
		h.rec.Steps = append([]backendtest.Step{h.leased(nodeB, 9, 4, 4)}, h.rec.Steps...)
	}},
	{"before its predecessor", "I5", func(h *pair) {
		h.rec.Steps[3].Begin, h.rec.Steps[3].End = 1, 2
	}},
	{"never ended", "I7", func(h *pair) { h.rec.Instances[h.id] = backend.Instance{ID: h.id, Status: backend.Running} }},
	{"ended twice", "I7", func(h *pair) { h.add(h.rec.Steps[5]) }},
	{"end not told", "I7", func(h *pair) { h.rec.Steps = h.rec.Steps[:5] }},
	{"ended otherwise", "I7", func(h *pair) {
		h.rec.Instances[h.id] = backend.Instance{ID: h.id, Status: backend.Failed, Failure: &plan.Failure{Type: "X"}}
	}},
	{"one token for two leases", "I11", func(h *pair) { h.add(h.leased(nodeB, 2, 4, 5)) }},
	{"token went back", "I11", func(h *pair) { h.add(h.leased(nodeB, 1, 5, 5)) }},
	{"refused", "I12", func(h *pair) {
		s := h.answered(nodeB, 2, 7, 8)
		s.Answer, s.Err = backend.Refused, errors.New("no such column")
		h.add(s)
	}},
	{"of an unknown program", "I12", func(h *pair) {
		s := h.answered(77, 2, 7, 8)
		s.Answer, s.Err = backend.Refused, errors.New("no such node")
		h.add(s)
	}},
	{"nothing", "inconclusive", func(h *pair) { *h.rec = backendtest.Recording{} }},
	{"an answer was lost", "", func(h *pair) {
		h.rec.Steps = append(h.rec.Steps[:2:2], h.rec.Steps[3:5]...)
		h.add(backendtest.Step{Kind: backendtest.Lost, Begin: 3, End: 4, Err: backend.ErrUnknown})
	}},
}

func TestCheckFinds(t *testing.T) {
	for _, c := range planted {
		t.Run(c.name, func(t *testing.T) {
			h := newPair(t)
			c.do(h)
			err := h.rec.Check()
			switch {
			case c.want == "" && err != nil:
				t.Errorf("a good history is called wrong: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want+": ")):
				t.Errorf("Check says %v; want %s", err, c.want)
			}
		})
	}
}

func workflow(t *testing.T, name string) backendtest.Workflow {
	t.Helper()
	for _, w := range backendtest.Workflows() {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("there is no workflow %q", name)
	return backendtest.Workflow{}
}

func TestWorkflowsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range backendtest.Workflows() {
		if w.Name == "" || seen[w.Name] {
			t.Errorf("workflow %q has no name of its own", w.Name)
		}
		seen[w.Name] = true
		if (w.Want == "") == (w.Failure == "") {
			t.Errorf("workflow %s wants %q and %q; it must want a result or a failure", w.Name, w.Want, w.Failure)
		}
	}
}

func TestExpect(t *testing.T) {
	bad := workflow(t, "action fails")
	good := workflow(t, "sequence")
	failure := func(typ string, line int) backend.Instance {
		f := &plan.Failure{Type: typ}
		f.Pos.Line, f.Pos.Col = line, 5
		return backend.Instance{Status: backend.Failed, Failure: f}
	}
	completed := func(v string) backend.Instance {
		return backend.Instance{Status: backend.Completed, Result: json.RawMessage(v)}
	}
	for _, c := range []struct {
		w    backendtest.Workflow
		got  backend.Instance
		fine bool
	}{
		{good, completed(good.Want), true},
		{good, completed("13"), false},
		{good, completed(strings.Repeat("1", 10_000)), false},
		{good, failure("X", 1), false},
		{bad, failure("Declined", 3), true},
		{bad, failure("Declined", 4), false},
		{bad, failure("Other", 3), false},
		{bad, completed("null"), false},
	} {
		err := c.w.Expect(c.got)
		if (err == nil) != c.fine {
			t.Errorf("%s against %s: %v", c.w.Name, c.got.Status, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("a message of %d bytes", len(err.Error()))
		}
	}
}

func drive(t *testing.T, b backend.Backend, name string, cfg backendtest.DriveConfig) (*backendtest.Recording, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	w := workflow(t, name)
	return backendtest.Drive(ctx, b, []backend.Submission{{ID: uuid.New(), Program: w.Program(t), Input: json.RawMessage(w.Input)}}, cfg)
}

func TestDriveGivesUp(t *testing.T) {
	b := &bug{Backend: memory.New(memory.Options{})}
	var claims atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	b.after = func(out *backend.Committed) {
		out.Tasks = nil
		if claims.Add(1) == 20 {
			cancel()
		}
	}
	w := workflow(t, "sequence")
	sub := backend.Submission{ID: uuid.New(), Program: w.Program(t), Input: json.RawMessage(w.Input)}
	_, err := backendtest.Drive(ctx, b, []backend.Submission{sub}, backendtest.DriveConfig{Workers: 2})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "I9") {
		t.Errorf("Drive: %v; want it to name I9", err)
	}
}

func TestDriveRefused(t *testing.T) {
	w := workflow(t, "sequence")
	sub := backend.Submission{ID: uuid.New(), Program: w.Program(t), Input: json.RawMessage(`{"m": 1}`)}
	_, err := backendtest.Drive(t.Context(), memory.New(memory.Options{}), []backend.Submission{sub}, backendtest.DriveConfig{})
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("Drive: %v; want the refusal", err)
	}
}

func TestDriveErrors(t *testing.T) {
	broken := errors.New("cable cut")
	for name, plant := range map[string]func(*bug){
		"submit": func(b *bug) {
			b.submit = func(context.Context, []backend.Submission, backend.Grant) (backend.Committed, error) {
				return backend.Committed{}, broken
			}
		},
		"claim": func(b *bug) {
			b.after = func(out *backend.Committed) { out.Tasks = nil }
			b.claim = func(context.Context, int, backend.Grant) (backend.Committed, error) {
				return backend.Committed{}, broken
			}
		},
		"complete": func(b *bug) {
			b.complete = func(context.Context, int, []backend.Completion, backend.Grant) (backend.Committed, error) {
				return backend.Committed{}, broken
			}
		},
		"lookup": func(b *bug) {
			b.lookup = func(context.Context, []uuid.UUID) ([]backend.Instance, error) { return nil, broken }
		},
	} {
		b := &bug{Backend: memory.New(memory.Options{})}
		plant(b)
		if _, err := drive(t, b, "retry with backoff", backendtest.DriveConfig{Workers: 3}); !errors.Is(err, broken) {
			t.Errorf("%s fails, and Drive says %v", name, err)
		}
	}
	short := &bug{Backend: memory.New(memory.Options{})}
	short.after = func(out *backend.Committed) { out.Outcomes = nil }
	if _, err := drive(t, short, "sequence", backendtest.DriveConfig{}); err == nil {
		t.Error("outcomes are missing, and Drive does not mind")
	}
}

// TestDriveCutOff makes every third call fail before it begins, and every third commit fail after it.
func TestDriveCutOff(t *testing.T) {
	cut := errors.New("cut")
	var begun, committed atomic.Int64
	b := memory.New(memory.Options{Crash: func(point string) error {
		if strings.HasSuffix(point, ".begin") && begun.Add(1)%3 == 0 || memory.Committed(point) && committed.Add(1)%3 == 0 {
			return cut
		}
		return nil
	}})
	rec, err := drive(t, b, "pipeline", backendtest.DriveConfig{
		Workers: 2, Seed: 4, Lease: 20 * time.Millisecond, Again: func(err error) bool { return errors.Is(err, cut) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	lost := 0
	for _, s := range rec.Steps {
		if s.Kind == backendtest.Lost {
			lost++
		}
	}
	if lost == 0 {
		t.Error("inconclusive: no answer was lost")
	}
	for _, inst := range rec.Instances {
		if err := workflow(t, "pipeline").Expect(inst); err != nil {
			t.Error(err)
		}
	}
}

// TestDriveOffersAgain answers every other member of a call Again, without applying it.
func TestDriveOffersAgain(t *testing.T) {
	b := &bug{Backend: memory.New(memory.Options{})}
	again := 0
	b.complete = func(ctx context.Context, shard int, cs []backend.Completion, g backend.Grant) (backend.Committed, error) {
		if again++; again%2 == 0 && len(cs) > 0 {
			out, err := b.Backend.Complete(ctx, shard, cs[1:], g)
			out.Outcomes = append([]backend.Outcome{{Answer: backend.Again, Err: errors.New("deadlock")}}, out.Outcomes...)
			return out, err
		}
		return b.Backend.Complete(ctx, shard, cs, g)
	}
	submitted := 0
	b.submit = func(ctx context.Context, subs []backend.Submission, g backend.Grant) (backend.Committed, error) {
		if submitted++; submitted == 1 {
			return backend.Committed{Outcomes: []backend.Outcome{{Answer: backend.Again, Err: errors.New("deadlock")}}}, nil
		}
		return b.Backend.Submit(ctx, subs, g)
	}
	rec, err := drive(t, b, "pipeline", backendtest.DriveConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Check(); err != nil {
		t.Error(err)
	}
	for _, inst := range rec.Instances {
		if err := workflow(t, "pipeline").Expect(inst); err != nil {
			t.Error(err)
		}
	}
}

func TestActions(t *testing.T) {
	actions := backendtest.Actions()
	for _, c := range []struct{ action, args, want string }{
		{"echo", `{"value": [1.0]}`, `[1.0]`},
		{"add", `{"a": 9223372036854775807, "b": 1}`, `9223372036854775808`},
		{"double", `{"value": -3}`, `-6`},
		{"sum", `{"values": []}`, `0`},
		{"items", `{"count": 3}`, `[0,1,2]`},
		{"noop", `{}`, `null`},
		{"echo", `{}`, `ArgumentError`},
		{"echo", `[]`, `ArgumentError`},
		{"add", `{"a": 1}`, `ArgumentError`},
		{"add", `{"a": 1.5, "b": 1}`, `ArgumentError`},
		{"double", `{"value": "x"}`, `ArgumentError`},
		{"sum", `{"values": 3}`, `ArgumentError`},
		{"sum", `{}`, `ArgumentError`},
		{"items", `{"count": -1}`, `ArgumentError`},
		{"items", `{}`, `ArgumentError`},
		{"fail", `{"type": "T", "message": "m"}`, `T`},
		{"fail", `{"type": "T"}`, `ArgumentError`},
		{"fail", `{"type": 1, "message": "m"}`, `ArgumentError`},
		{"fail", `{}`, `ArgumentError`},
		{"flaky", `{"times": 1}`, `Flaky`},
		{"flaky", `{"times": 0}`, `1`},
		{"flaky", `{}`, `ArgumentError`},
	} {
		out, failure := actions[c.action](json.RawMessage(c.args), 1)
		got := string(out)
		if failure != nil {
			got = failure.Type
		}
		if got != c.want {
			t.Errorf("%s%s gives %s; want %s", c.action, c.args, got, c.want)
		}
	}
}
