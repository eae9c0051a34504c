package journal

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
	"pulley/internal/pgtest"
)

const shortLease = 300 * time.Millisecond

// briefLease is a lease on a node run that does not lengthen the one on its shard.
const briefLease = shortLease * spanMore / (spanMore + 1)

type world struct {
	*testing.T
	ctx  context.Context
	cfg  Config
	subs []backend.Submission
	want map[uuid.UUID]backendtest.Workflow

	lease time.Duration // of node runs; a shard's is longer
}

func newWorld(t *testing.T, shards int) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	t.Cleanup(cancel)
	dsn, schema := pgtest.SharedSchema(t, "journal")
	cfg := Config{Store: postgres.Config{DSN: dsn, Schema: schema, Shards: shards, Connections: 4}, Lease: shortLease}
	return &world{T: t, ctx: ctx, cfg: cfg, want: map[uuid.UUID]backendtest.Workflow{}, lease: 10 * time.Minute}
}

func (w *world) granted(n int) backend.Grant {
	return backend.Grant{Owner: "test", Max: n, Lease: w.lease}
}

func (w *world) open() *Backend {
	w.Helper()
	return open(w.T, w.cfg)
}

func granted(n int) backend.Grant {
	return backend.Grant{Owner: "test", Max: n, Lease: 10 * time.Minute}
}

func (w *world) instance(wf backendtest.Workflow, p *plan.Program) backend.Submission {
	s := backend.Submission{ID: uuid.New(), Program: p, Input: json.RawMessage(wf.Input)}
	w.subs = append(w.subs, s)
	w.want[s.ID] = wf
	return s
}

func (w *world) launch(b *Backend, wf backendtest.Workflow) []backend.Task {
	w.Helper()
	out, err := b.Submit(w.ctx, []backend.Submission{w.instance(wf, wf.Program(w))}, w.granted(1000))
	if err != nil || out.Outcomes[0].Answer != backend.Applied {
		w.Fatalf("Submit: %+v, %v", out.Outcomes, err)
	}
	return out.Tasks
}

// launchLeased launches an instance and returns what is leased of it, though the shard's brief lease may have ended before the answer.
func (w *world) launchLeased(b *Backend, wf backendtest.Workflow) []backend.Task {
	w.Helper()
	if tasks := w.launch(b, wf); len(tasks) > 0 {
		return tasks
	}
	return w.claimed(b)
}

func ran(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt}
	if t.Action == "" {
		c.Result = json.RawMessage("null")
		return c
	}
	action, known := backendtest.Actions()[t.Action]
	if !known {
		c.Failure = &plan.Failure{Type: "UnknownAction", Message: t.Action}
		return c
	}
	c.Result, c.Failure = action(t.Args, t.Attempt)
	return c
}

func (w *world) complete(b *Backend, cs ...backend.Completion) backend.Committed {
	w.Helper()
	out, err := b.Complete(w.ctx, 0, cs, w.granted(1000))
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// kill ends a backend like the end of its process: it returns nothing.
func kill(b *Backend) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.stop()
	b.awaitBackground()
	b.store.Close()
}

// freeze stops a backend's background loops without cutting off their calls.
func freeze(b *Backend) {
	for _, sh := range b.shards {
		<-sh.free
		defer sh.unlock()
	}
	b.stop()
	b.awaitBackground()
}

func (w *world) finish(b *Backend) {
	w.Helper()
	if _, err := backendtest.Drive(w.ctx, b, w.subs, backendtest.DriveConfig{Workers: 2, Max: 64}); err != nil {
		w.Fatal(err)
	}
	found, err := b.Lookup(w.ctx, slices.Collect(maps.Keys(w.want)))
	if err != nil {
		w.Fatal(err)
	}
	for _, in := range found {
		if err := w.want[in.ID].Expect(in); err != nil {
			w.Error(err)
		}
	}
	w.clean(b)
}

func (w *world) clean(b *Backend) {
	w.Helper()
	for shard := range b.Shards() {
		for more := true; more; {
			swept, err := b.Sweep(w.ctx, shard)
			if err != nil {
				w.Fatal(err)
			}
			more = swept.More
		}
	}
	if left, err := b.Leftovers(w.ctx); err != nil || len(left) > 0 {
		w.Errorf("I10: left behind %v (%v)", left, err)
	}
}

func (w *world) number(b *Backend, sql string, args ...any) (n int) {
	w.Helper()
	if err := b.store.Pool.QueryRow(w.ctx, sql, args...).Scan(&n); err != nil {
		w.Fatal(err)
	}
	return n
}

func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-w.ctx.Done():
			w.Fatalf("waiting until %s: %v", what, w.ctx.Err())
		}
	}
}

// dump prints what memory has of a shard, and a replay must restore.
func (sh *shardState) dump() string {
	var lines []string
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for id, err := range sh.broken {
		line("%s broken: %v", id, err)
	}
	for id, inst := range sh.instances {
		line("%s workflow %d, events %v, %d bytes", id, inst.workflow, inst.events, inst.size())
		inst.Runs.Each(func(a state.Address, r *state.Run) {
			when := "now" // or almost now
			if r.Place == state.Waiting && r.Due-sh.b.now() > int64(30*time.Minute) {
				when = "later"
			}
			line("%s run %v %s attempt %d delivered %d %s args %s", id, a, r.Action, r.Attempt, r.Noted, when, words(r.Args))
		})
		inst.Barriers.Each(func(a state.Address, bar *state.Barrier) {
			line("%s barrier %v %d/%d soft %t %s", id, a, bar.Completed, bar.Required, bar.Soft, bytesOf(bar.Elements))
		})
		inst.Slots.Each(func(a state.Address, v state.Value) { line("%s slot %v %s %s", id, a, v.Base, bytesOf(v.Appended)) })
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func bytesOf(values []json.RawMessage) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = string(v)
	}
	return strings.TrimRight(strings.Join(parts, " | "), " |")
}

func words(args []plan.Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		if parts[i] = a.Name + "=" + string(a.Value); a.Ref != nil {
			parts[i] = a.Name + "=&" + backend.FormatSlot(*a.Ref)
		}
	}
	return strings.Join(parts, ", ")
}
