package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

type script struct {
	start plan.Plan
	needs plan.Needs
	steps map[graph.NodeID]plan.Plan
	err   error
	seen  []plan.Inbox

	panics bool

	cleared plan.Cleared
}

func (s *script) Start(json.RawMessage) (plan.Plan, error) { return s.start, s.err }
func (s *script) Needs(plan.Event) plan.Needs              { return s.needs }
func (s *script) Cleared(graph.RegionID) plan.Cleared      { return s.cleared }
func (s *script) RunName(r graph.Run) string               { return fmt.Sprintf("node %d at %q", r.Node, r.Path) }

// BarrierEvents makes every watched barrier start node 60 in between.
func (s *script) BarrierEvents(barrier graph.Run, required, _, after int) []plan.Event {
	if after == required {
		return []plan.Event{{Run: barrier, Fired: true}}
	}
	return []plan.Event{{Run: run(60), Fired: true}}
}

func (s *script) Step(ev plan.Event, in plan.Inbox, _ float64) (plan.Plan, error) {
	s.seen = append(s.seen, in)
	p, ok := s.steps[ev.Run.Node]
	switch {
	case s.panics:
		panic("a bug in the core")
	case !ok:
		return plan.Plan{}, plan.ErrEvent
	}
	return p, nil
}

func run(node graph.NodeID) graph.Run { return graph.Run{Node: node} }

func enqueue(nodes ...graph.NodeID) []plan.Enqueue {
	var out []plan.Enqueue
	for _, n := range nodes {
		out = append(out, plan.Enqueue{Run: run(n), Action: "a"})
	}
	return out
}

var lease = backend.Grant{Owner: "o", Max: 100, Lease: time.Minute}

func scripted(t *testing.T, s *script, crash func(string) error) (*Backend, []backend.Task) {
	t.Helper()
	p := program(t)
	b := New(Options{Crash: crash})
	b.core = func(*plan.Program) core { return s }
	out, err := b.Submit(t.Context(), []backend.Submission{{ID: uuid.UUID{1}, Program: p}}, lease)
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		t.Fatalf("Submit: %+v, %v", out, err)
	}
	return b, out.Tasks
}

func program(t *testing.T) *plan.Program {
	t.Helper()
	b := graph.New("any")
	b.Output("1").After(b.Action("a", "noop"))
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Compile(g)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func completion(t backend.Task) backend.Completion {
	return backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt, Result: json.RawMessage("1")}
}

// missing is a slot that no script writes.
var missing = plan.Slot{Var: 7, Scope: "1"}

// contradictions are plans that do not fit a store in which barrier 50 has had its one arrival and nodes 1 and 2 are ready.
var contradictions = []struct {
	name     string
	plan     plan.Plan
	want     string
	overflow bool
}{
	{"overflow", plan.Plan{Arrivals: []plan.Arrival{{Run: run(50), Required: 1}}}, "arrival 2 of 1", true},
	{"overflow within", plan.Plan{
		Writes:   []plan.Write{{Slot: missing, Value: json.RawMessage("1")}, {Slot: plan.Slot{Var: 1}}},
		Elements: []plan.Element{{Barrier: run(51), Value: json.RawMessage("1")}},
		Arrivals: []plan.Arrival{{Run: run(51), Required: 2}, {Run: run(51), Required: 2}, {Run: run(51), Required: 2}},
	}, "arrival 3 of 2", true},
	{"element below zero", plan.Plan{Elements: []plan.Element{{Barrier: run(51), Index: -1, Value: json.RawMessage("1")}}}, "element -1", false},
	{"opened twice", plan.Plan{Opens: []plan.Open{{Run: run(50), Required: 2}}}, "is known already", false},
	{"opened for nobody", plan.Plan{Opens: []plan.Open{{Run: run(52)}}}, "takes at least one", false},
	{"never opened", plan.Plan{Arrivals: []plan.Arrival{{Run: run(52)}}}, "whose count is not known", false},
	{"other count", plan.Plan{Arrivals: []plan.Arrival{{Run: run(50), Required: 3}}}, "1 arrivals in memory and 3", false},
	{"enqueued twice", plan.Plan{Enqueues: enqueue(3, 2)}, "was enqueued before", false},
	{"missing reference", plan.Plan{Enqueues: []plan.Enqueue{
		{Run: run(9), Action: "a", Args: []plan.Arg{{Name: "x", Ref: &missing}}},
	}}, "variable 7 at 1, which has no value", false},
	{"appended to nothing", plan.Plan{Appends: []plan.Append{{Slot: missing, Value: json.RawMessage("1")}}}, "which has 0 behind", false},
	{"appended to no list", plan.Plan{Appends: []plan.Append{{Slot: plan.Slot{Var: 1}, Value: json.RawMessage("1")}}}, `behind "\"kept\""`, false},
	{"appended with a gap", plan.Plan{
		Writes:  []plan.Write{{Slot: missing, Value: json.RawMessage("[]")}},
		Appends: []plan.Append{{Slot: missing, Value: json.RawMessage("1")}, {Slot: missing, Index: 2, Value: json.RawMessage("1")}},
	}, "value 2 is appended to variable 7 at 1, which has 1", false},
	{"written over", plan.Plan{
		Writes:  []plan.Write{{Slot: missing, Value: json.RawMessage("[]")}},
		Appends: []plan.Append{{Slot: missing, Value: json.RawMessage("1")}},
		Resumes: []graph.Run{run(53)},
	}, "variable 7 at 1 is written over what was appended to it", false},
	{"impossible resume", plan.Plan{Resumes: []graph.Run{run(77)}}, "does not fit", false},
	{"impossible barrier", plan.Plan{Arrivals: []plan.Arrival{{Run: run(77), Required: 1}}}, "does not fit", false},
}

// TestRefusals checks that a plan that contradicts the store is refused, leaves nothing, and does not disturb the rest of its
// batch.
func TestRefusals(t *testing.T) {
	for _, c := range contradictions {
		t.Run(c.name, func(t *testing.T) {
			s := &script{
				start: plan.Plan{
					Writes:   []plan.Write{{Slot: plan.Slot{Var: 1}, Value: json.RawMessage(`"kept"`)}},
					Arrivals: []plan.Arrival{{Run: run(50), Required: 1}},
					Enqueues: enqueue(1, 2),
				},
				steps: map[graph.NodeID]plan.Plan{
					1: c.plan, 2: {Enqueues: enqueue(4)}, 50: {}, 51: {},
					53: {Writes: []plan.Write{{Slot: missing, Value: json.RawMessage("[]")}}},
				},
			}
			b, tasks := scripted(t, s, nil)
			before := b.Dump()
			bad, err := b.Complete(t.Context(), 0, []backend.Completion{completion(tasks[0])}, lease)
			if err != nil {
				t.Fatal(err)
			}
			o := bad.Outcomes[0]
			if o.Answer != backend.Refused || o.Err == nil || !strings.Contains(o.Err.Error(), c.want) {
				t.Fatalf("the answer is %q (%v); want it refused with %q", o.Answer, o.Err, c.want)
			}
			if errors.Is(o.Err, backend.ErrOverflow) != c.overflow {
				t.Errorf("is %v an overflow? want %t", o.Err, c.overflow)
			}
			if after := b.Dump(); after != before {
				t.Errorf("a refusal changed\n%s\nto\n%s", before, after)
			}
			batch := []backend.Completion{completion(tasks[0]), completion(tasks[1]), completion(tasks[0])}
			out, err := b.Complete(t.Context(), 0, batch, lease)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []backend.Answer{backend.Refused, backend.Applied, backend.Refused} {
				if out.Outcomes[i].Answer != want {
					t.Errorf("member %d is %q; want %q", i, out.Outcomes[i].Answer, want)
				}
			}
			if len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Run != run(4) {
				t.Errorf("tasks %+v; want node 4", out.Tasks)
			}
			if err := b.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestStartRefused(t *testing.T) {
	for _, s := range []*script{
		{start: plan.Plan{Enqueues: enqueue(1, 1)}},
		{err: &plan.InputError{Msg: "no"}},
	} {
		b := New(Options{})
		b.core = func(*plan.Program) core { return s }
		p := program(t)
		out, err := b.Submit(t.Context(), []backend.Submission{{ID: uuid.UUID{1}, Program: p}, {ID: uuid.UUID{2}}}, lease)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range out.Outcomes {
			if o.Answer != backend.Refused || o.Err == nil {
				t.Errorf("submission %d is %q (%v)", i, o.Answer, o.Err)
			}
		}
		if got := b.Dump(); got != "" || len(out.Tasks) > 0 {
			t.Errorf("%d tasks, and the store holds\n%s", len(out.Tasks), got)
		}
		var input *plan.InputError
		if s.err != nil && !errors.As(out.Outcomes[0].Err, &input) {
			t.Errorf("the reason is %v; want the core's", out.Outcomes[0].Err)
		}
	}
}

// TestCompletionOfAnother checks that a completion that does not fit its lease is refused.
func TestCompletionOfAnother(t *testing.T) {
	b, tasks := scripted(t, &script{start: plan.Plan{Enqueues: enqueue(1)}}, nil)
	g := graph.New("other")
	g.Output("2").After(g.Action("b", "noop"))
	built, err := g.Build()
	if err != nil {
		t.Fatal(err)
	}
	other, err := plan.Compile(built)
	if err != nil {
		t.Fatal(err)
	}
	wrongProgram, wrongAttempt, none := completion(tasks[0]), completion(tasks[0]), completion(tasks[0])
	wrongProgram.Program, wrongAttempt.Attempt, none.Program = other, 2, nil
	before := b.Dump()
	out, err := b.Complete(t.Context(), 0, []backend.Completion{wrongProgram, wrongAttempt, none}, lease)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"another program", "completed as attempt 2", "has no program"} {
		if o := out.Outcomes[i]; o.Answer != backend.Refused || !strings.Contains(o.Err.Error(), want) {
			t.Errorf("member %d is %q (%v); want it refused with %q", i, o.Answer, o.Err, want)
		}
	}
	if after := b.Dump(); after != before {
		t.Errorf("changed\n%s\nto\n%s", before, after)
	}
}

// TestBarrierChain checks that a barrier that opens another is applied in the same call, and reads what the call has written,
// here from the start on.
func TestBarrierChain(t *testing.T) {
	s := &script{
		needs: plan.Needs{Slots: []plan.Slot{{Var: 1}, {Var: 2}}, Elements: true},
		start: plan.Plan{
			Writes:   []plan.Write{{Slot: plan.Slot{Var: 1}, Value: json.RawMessage(`1`)}},
			Elements: []plan.Element{{Barrier: run(10), Index: 3, Value: json.RawMessage(`"e"`)}},
			Arrivals: []plan.Arrival{{Run: run(10), Required: 1, Soft: true}, {Run: run(10), Required: 1, Soft: true}},
		},
		steps: map[graph.NodeID]plan.Plan{
			10: {
				Writes:   []plan.Write{{Slot: plan.Slot{Var: 1}}, {Slot: plan.Slot{Var: 2}, Value: json.RawMessage(`2`)}},
				Opens:    []plan.Open{{Run: run(11), Required: 2}},
				Arrivals: []plan.Arrival{{Run: run(11)}, {Run: run(11)}, {Run: run(12), Required: 1}},
			},
			11: {Enqueues: enqueue(5)},
			12: {End: &plan.End{Result: json.RawMessage(`"over"`)}},
		},
	}
	crashes := 0
	b, tasks := scripted(t, s, func(point string) error {
		if point == "submit.fired" {
			crashes++
		}
		return nil
	})
	if crashes != 3 {
		t.Errorf("%d barriers passed the crash point; want 3", crashes)
	}
	if len(tasks) != 0 {
		t.Errorf("the instance has ended, and %d of its node runs were leased", len(tasks))
	}
	if v := s.seen[0].Values; len(v) != 1 || string(v[plan.Slot{Var: 1}]) != `1` {
		t.Errorf("the first barrier read %v", v)
	}
	if e := s.seen[0].Elements; len(e) != 1 || e[0].Index != 3 || string(e[0].Value) != `"e"` || e[0].Barrier != run(10) {
		t.Errorf("the first barrier read elements %+v", e)
	}
	if v := s.seen[1].Values; len(v) != 1 || string(v[plan.Slot{Var: 2}]) != `2` {
		t.Errorf("the second barrier read %v; the first took variable 1 away", v)
	}
	if got := b.Dump(); !strings.Contains(got, `status=completed result="over"`) || strings.Count(got, "\n") != 1 {
		t.Errorf("the store holds\n%s", got)
	}
}

func at(node graph.NodeID, path graph.Path) graph.Run { return graph.Run{Node: node, Path: path} }

func TestAppended(t *testing.T) {
	list := plan.Slot{Var: 3, Scope: "0"}
	one := func(i int, v string) []plan.Append {
		return []plan.Append{{Slot: list, Index: i, Value: json.RawMessage(v)}}
	}
	s := &script{
		needs: plan.Needs{Slots: []plan.Slot{list}},
		start: plan.Plan{
			Writes:   []plan.Write{{Slot: list, Value: json.RawMessage(`["base"]`)}},
			Appends:  one(0, "1"),
			Enqueues: enqueue(1),
		},
		steps: map[graph.NodeID]plan.Plan{
			1: {Appends: one(1, "2"), Resumes: []graph.Run{run(60)}, Enqueues: []plan.Enqueue{
				{Run: run(2), Action: "a", Args: []plan.Arg{{Name: "xs", Ref: &list}}},
			}},
			2:  {Writes: []plan.Write{{Slot: list, Value: json.RawMessage(`[]`), Drops: true}}, Appends: one(0, "3"), Enqueues: enqueue(3)},
			3:  {Writes: []plan.Write{{Slot: list, Drops: true}}, Enqueues: enqueue(4)},
			60: {},
		},
	}
	b, tasks := scripted(t, s, nil)
	want := []string{`{}`, `{"xs":["base",1,2]}`, `{}`, `{}`}
	for i, args := range want {
		if len(tasks) != 1 || string(tasks[0].Args) != args {
			t.Fatalf("task %d is %+v; want one with %s", i, tasks, args)
		}
		if i == len(want)-1 {
			break
		}
		out, err := b.Complete(t.Context(), 0, []backend.Completion{completion(tasks[0])}, lease)
		if err != nil || out.Outcomes[0].Answer != backend.Applied {
			t.Fatalf("Complete: %+v, %v", out.Outcomes, err)
		}
		tasks = out.Tasks
	}
	var read []string
	for _, in := range s.seen {
		whole, err := plan.JoinAppended(in.Values[list], in.Appended[list])
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, string(whole))
	}
	if got := strings.Join(read, " "); got != `["base",1] ["base",1,2] ["base",1,2] [3]` {
		t.Errorf("the events read %s", got)
	}
	if dump := b.Dump(); strings.Contains(dump, "slot") || strings.Contains(dump, "appended") {
		t.Errorf("the list was dropped, and the store holds\n%s", dump)
	}
}

// TestClears checks that a clear removes its nodes' and variables' state under its path, also if the same call made it, and that
// none of it is handed out.
func TestClears(t *testing.T) {
	value := json.RawMessage("1")
	write := func(v graph.VarID, scope graph.Path) plan.Write {
		return plan.Write{Slot: plan.Slot{Var: v, Scope: scope}, Value: value}
	}
	call := func(node graph.NodeID, path graph.Path) plan.Enqueue {
		return plan.Enqueue{Run: at(node, path), Action: "a"}
	}
	s := &script{
		cleared: plan.Cleared{Runs: []graph.NodeID{1, 2}, Barriers: []graph.NodeID{50}, Vars: []graph.VarID{1}},
		start: plan.Plan{
			Writes:   []plan.Write{write(1, "1"), write(1, "1.c0"), write(1, "10"), write(2, "1")},
			Elements: []plan.Element{{Barrier: at(50, "1.2"), Value: value}, {Barrier: at(50, "2"), Value: value}},
			Arrivals: []plan.Arrival{{Run: at(50, "1.2"), Required: 2, Watched: true}, {Run: at(51, "1"), Required: 2}},
			Enqueues: []plan.Enqueue{call(1, "1"), call(2, "1.7"), call(2, "10"), call(3, "1")},
		},
		steps: map[graph.NodeID]plan.Plan{
			1:  {Resumes: []graph.Run{at(61, "1")}, Clears: []plan.Clear{{Region: 1, Path: "1"}}},
			60: {Enqueues: []plan.Enqueue{{Run: at(2, "1.9"), After: time.Minute}}},
			61: {Enqueues: []plan.Enqueue{call(2, "1.8"), call(2, "11")}, Clears: []plan.Clear{{Region: 1, Path: "1"}}},
		},
	}
	b, tasks := scripted(t, s, nil)
	if dump := b.Dump(); !strings.Contains(dump, `node=2 path="1.9" waiting`) {
		t.Errorf("the watched barrier has started nothing:\n%s", dump)
	}
	other := tasks[1]
	out, err := b.Complete(t.Context(), 0, []backend.Completion{completion(tasks[0]), completion(other)}, lease)
	if err != nil || out.Outcomes[0].Answer != backend.Applied || out.Outcomes[1].Answer != backend.Stale {
		t.Fatalf("Complete: %+v, %v; want what was cancelled to be stale", out.Outcomes, err)
	}
	if len(out.Tasks) != 1 || out.Tasks[0].Lease.Key.Run != at(2, "11") || !out.NextDue.IsZero() {
		t.Errorf("tasks %+v, and the next at %s; want node 2 at 11 alone", out.Tasks, out.NextDue)
	}
	var left []string
	for line := range strings.Lines(b.Dump()) {
		if f := strings.Fields(line); f[0] != "instance" {
			left = append(left, strings.Join(f[:3], " "))
		}
	}
	want := `queue node=2 path="10" queue node=2 path="11" queue node=3 path="1" readiness node=51 path="1" slot var=1 scope="10" ` +
		`slot var=2 scope="1" element node=50 path="2"`
	if got := strings.Join(left, " "); got != want {
		t.Errorf("the store holds\n%s\nwant\n%s", got, want)
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

func TestCrashInStart(t *testing.T) {
	s := &script{
		start: plan.Plan{Arrivals: []plan.Arrival{{Run: run(10), Required: 1}}},
		steps: map[graph.NodeID]plan.Plan{10: {Enqueues: enqueue(5)}},
	}
	crash := errors.New("crash")
	for _, point := range []string{"submit.instance", "submit.fired", "submit.enqueues", "submit.lease", "submit.commit"} {
		b := New(Options{Crash: func(p string) error {
			if p == point {
				return crash
			}
			return nil
		}})
		b.core = func(*plan.Program) core { return s }
		_, err := b.Submit(t.Context(), []backend.Submission{{ID: uuid.UUID{1}, Program: program(t)}}, lease)
		if !errors.Is(err, crash) || backend.IsUnknown(err) {
			t.Errorf("%s: %v", point, err)
		}
		if got := b.Dump(); got != "" {
			t.Errorf("%s: the store holds\n%s", point, got)
		}
		if err := b.Check(); err != nil {
			t.Errorf("%s: %v", point, err)
		}
	}
}

// TestPanicLeavesNothing checks that a panicking core leaves the store unchanged and usable.
func TestPanicLeavesNothing(t *testing.T) {
	s := &script{start: plan.Plan{Enqueues: enqueue(1)}}
	b, tasks := scripted(t, s, nil)
	before := b.Dump()
	s.panics = true
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = b.Complete(t.Context(), 0, []backend.Completion{completion(tasks[0])}, lease)
	}()
	if after := b.Dump(); after != before {
		t.Errorf("the panic changed\n%s\nto\n%s", before, after)
	}
}

func TestCheckFinds(t *testing.T) {
	barrier := func(required, completed int32) func(*Backend, *instance, *state.Run) {
		return func(_ *Backend, i *instance, _ *state.Run) {
			i.Barriers.Put(state.OfRun(run(50)), &state.Barrier{Counts: state.Counts{Required: required, Completed: completed}})
		}
	}
	for name, c := range map[string]struct {
		want    string
		corrupt func(*Backend, *instance, *state.Run)
	}{
		"nothing":        {"", func(*Backend, *instance, *state.Run) {}},
		"counter":        {"I2", barrier(1, 2)},
		"no count":       {"I2", barrier(0, 0)},
		"done and there": {"not in the heap", func(_ *Backend, _ *instance, r *state.Run) { r.Place = state.NoQueue }},
		"wrong heap":     {"not in the heap", func(b *Backend, _ *instance, r *state.Run) { r.Move(&b.store.shards[0].waiting) }},
		"no token":       {"has token 0", func(_ *Backend, _ *instance, r *state.Run) { r.Token = 0 }},
		"future token":   {"has token 99", func(_ *Backend, _ *instance, r *state.Run) { r.Token = 99 }},
		"bytes":          {"bytes", func(_ *Backend, i *instance, _ *state.Run) { i.Bytes++ }},
		"leftovers": {"I10", func(_ *Backend, i *instance, _ *state.Run) {
			i.status = backend.Completed
			i.Slots.Put(state.Address{}, state.Value{})
			i.Barriers.Put(state.OfRun(run(1)), &state.Barrier{Counts: state.Counts{Required: 1}, Elements: make([]json.RawMessage, 1)})
		}},
	} {
		b, tasks := scripted(t, &script{start: plan.Plan{Enqueues: enqueue(1)}}, nil)
		inst := b.store.instances[tasks[0].Lease.Key.Instance]
		r, _ := inst.Runs.Get(state.OfRun(run(1)))
		c.corrupt(b, inst, r)
		err := b.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: Check says %v; want %q", name, err, c.want)
		}
	}
}
