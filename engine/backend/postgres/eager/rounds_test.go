package eager

import (
	"fmt"
	"slices"
	"testing"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/engine/graph"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func TestRoundsShareRows(t *testing.T) {
	w := newWorld(t)
	wf := designtest.Collecting
	wf.Input = `{"n": 30}`
	p := wf.Program(t)
	sub := w.Instance(wf)
	delete(w.Want, sub.ID)
	var rows []int64
	for tasks := w.Submit(sub); len(tasks) > 0; {
		path := string(tasks[0].Lease.Key.Run.Path)
		if n := w.Number("SELECT count(*) FROM node_ready_state"); n != int64(len(p.Graph().Nodes)) {
			t.Fatalf("round %s: %d rows for %d nodes", path, n, len(p.Graph().Nodes))
		}
		if n := w.Number("SELECT count(*) FROM node_ready_state WHERE path NOT IN ('', $1)", path); n != 0 {
			t.Fatalf("round %s: %d rows stand for another", path, n)
		}
		rows = append(rows, w.Number("SELECT (SELECT count(*) FROM node_pending_context) + (SELECT count(*) FROM instance_eval_context WHERE element < 0)"))
		tasks = w.Complete(backendtest.Ran(tasks[0])).Tasks
	}
	if len(rows) != 90 || slices.Max(rows) > slices.Max(rows[:6]) {
		t.Errorf("%d completions with %v other rows; want 90, and no more than in the first rounds", len(rows), rows)
	}
	w.Finish()
}

func TestRoundsLeaveNoValues(t *testing.T) {
	w := newWorld(t)
	wf := backendtest.Workflow{Name: "lists", Input: `{"n": 20, "lists": [[], [1]]}`, Source: `
fn main(input: [n, lists], output: [total]):
    total = 0
    for i in range(n):
        for x in lists[i % 2]:
            total = @echo(value=x)
`}
	sub := w.Instance(wf)
	delete(w.Want, sub.ID)
	var rows []int64
	for tasks := w.Submit(sub); len(tasks) > 0; {
		rows = append(rows, w.Number("SELECT count(*) FROM instance_eval_context"))
		tasks = w.Complete(backendtest.Ran(tasks[0])).Tasks
	}
	if len(rows) != 10 || slices.Max(rows) > slices.Max(rows[:3]) {
		t.Errorf("%d completions with %v values; want 10, and no more than in the first rounds", len(rows), rows)
	}
	w.Finish()
}

// TestLoopsAreLinear counts the rows and index entries that loops read, and their WAL, on a server of its own.
func TestLoopsAreLinear(t *testing.T) {
	sizes := depth.Of([]float64{40, 240}, []float64{100, 200, 400, 800})
	loopCosts(t, 20) // what is done once per server
	costs := map[string][]float64{}
	for _, n := range sizes {
		for what, cost := range loopCosts(t, int(n)) {
			costs[what] = append(costs[what], cost)
		}
	}
	for what, y := range costs {
		s := designtest.Slope(sizes, y)
		t.Logf("%s: slope %.3f of %v", what, s, y)
		if s > 1.05 {
			t.Errorf("%s of loops grow with slope %.3f; at most 1.05 is linear: %v", what, s, y)
		}
	}
}

func loopCosts(t *testing.T, n int) map[string]float64 {
	t.Helper()
	w := worldIn(t, postgres.Config{DSN: pgtest.Undisturbed(t).DSN(), Schema: pgtest.Schema(t), Shards: 1})
	w.Cfg.Application = w.Cfg.Schema
	wf := designtest.Collecting
	wf.Input = fmt.Sprintf(`{"n": %d}`, n)
	sub := w.Instance(wf)
	b := open(t, w.Cfg)
	wal := w.Number("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
	out, err := b.Submit(w.Ctx, []backend.Submission{sub}, backendtest.Granted(1))
	for err == nil && len(out.Tasks) > 0 {
		out, err = b.Complete(w.Ctx, 0, []backend.Completion{backendtest.Ran(out.Tasks[0])}, backendtest.Granted(1))
	}
	if err != nil || len(out.Ended) != 1 || out.Ended[0].Status != backend.Completed {
		t.Fatalf("%+v, %v", out.Ended, err)
	}
	wal = w.Number("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint") - wal
	b.Close()
	w.SessionsEnd(w.Cfg.Schema)
	return map[string]float64{
		"bytes of WAL":  float64(wal),
		"rows read":     float64(w.rowsRead()),
		"index entries": float64(w.Number("SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE schemaname = current_schema()")),
	}
}

func (w *world) rowsRead() int64 {
	w.Helper()
	return w.Number("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE schemaname = current_schema()")
}

func TestPlaces(t *testing.T) {
	p := backendtest.MustCompile(t, `
fn each(input: [x], output: [y]):
    y = 0
    for j in range(x):
        y = @add(a=y, b=j)
    zs = spread range(x):k -> @double(value=k)

fn main(input: [n], output: [r]):
    r = @noop()
    for i in range(n):
        r = spread range(i):x -> each(x=x)
`)
	s := shapeOf(p.Graph())
	node := func(name string) graph.NodeID {
		i := slices.IndexFunc(p.Graph().Nodes, func(n *graph.Node) bool { return n.Name == name })
		if i < 0 {
			t.Fatalf("there is no node %s", name)
		}
		return graph.NodeID(i)
	}
	for _, c := range []struct {
		node  string
		path  graph.Path
		place graph.Path
	}{
		{"noop", "", ""},
		{"add", "7.3.5", "3"},
		{"double", "7.3.2", "3.2"},
	} {
		run := graph.Run{Node: node(c.node), Path: c.path}
		if got := s.run(run); got != c.place {
			t.Errorf("%s at %q has its row at %q; want %q", c.node, c.path, got, c.place)
		}
	}
	if slices.Contains(s.first, node("add")) || !slices.Contains(s.first, node("noop")) {
		t.Errorf("rows at the start: %v; want all outside of spreads", s.first)
	}
	if got := s.run(graph.Run{Node: 9_999, Path: "1.2"}); got != "1.2" {
		t.Errorf("a node that is not there has its row at %q", got)
	}
}
