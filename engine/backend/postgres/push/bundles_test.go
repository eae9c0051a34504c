package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres/designtest"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// fork is a workflow of n actions side by side, and two behind all of them.
func fork(t *testing.T, n int) *plan.Program {
	t.Helper()
	b := graph.New("fork", "n")
	left := b.Action("left", "echo", graph.Arg{Name: "value", Value: graph.X(names(n))})
	right := b.Action("right", "echo", graph.Arg{Name: "value", Value: graph.X(names(n))})
	for i := range n {
		each := b.Action(fmt.Sprintf("t%d", i), "echo", graph.Arg{Name: "value", Value: graph.X(fmt.Sprintf("n + %d", i))})
		left.After(each)
		right.After(each)
	}
	b.Output("[left, right]").After(left, right)
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

func names(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("t%d", i)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// TestBundles completes the actions of a fork in two calls, one of them at another backend. What each brings stands in as few
// rows as the numbers of its variables allow, without what was stale, and both joins are given all of it. They have one counter.
// What versions before bundles have stored is read, too.
func TestBundles(t *testing.T) {
	const n = 40
	w := newWorld(t)
	tasks := w.Submit(backend.Submission{ID: uuid.New(), Program: fork(t, n), Input: json.RawMessage(`{"n": 100}`)})
	if len(tasks) != n {
		t.Fatalf("%d tasks", len(tasks))
	}
	first := designtest.Ran(tasks[:n/2]...)
	first[5].Lease.Token++
	out := w.Complete(first...)
	if want := n/2 - 1; strings.Count(backendtest.Answers(out), "applied") != want {
		t.Fatalf("%s; want %d applied", backendtest.Answers(out), want)
	}
	if rows, values := w.Number(`SELECT count(*) FROM inbox`), w.Number(`SELECT sum(json_array_length(value) / 2) FROM inbox`); rows > 2 || values != n/2-1 {
		t.Fatalf("%d rows with %d values; want at most 2 with %d", rows, values, n/2-1)
	}
	if counters := w.Number(`SELECT count(*) FROM readiness`); counters != 1 {
		t.Fatalf("%d counters; want that of both joins", counters)
	}
	w.Exec(`
		WITH bundles AS (DELETE FROM inbox WHERE variable < 0 RETURNING shard, instance_id, value)
		INSERT INTO inbox (shard, instance_id, variable, element, path, value)
		SELECT b.shard, b.instance_id, (b.value ->> 2 * i)::int, -1, '', b.value -> 2 * i + 1
		FROM bundles b CROSS JOIN generate_series(0, json_array_length(b.value) / 2 - 1) i`) // as versions before bundles had it
	out, err := w.through.Complete(w.Ctx, 0, designtest.Ran(append(tasks[n/2:], tasks[5])...), backendtest.Granted(10))
	if err != nil || len(out.Tasks) != 2 {
		t.Fatalf("%d tasks, %v; want both joins", len(out.Tasks), err)
	}
	want := make([]int, n)
	for i := range want {
		want[i] = 100 + i
	}
	list, _ := json.Marshal(map[string]any{"value": want})
	for _, task := range out.Tasks {
		if string(task.Args) != string(list) {
			t.Errorf("a join is given %s; want %s", task.Args, list)
		}
	}
	if out = w.CompleteTasks(out.Tasks...); len(out.Ended) != 1 {
		t.Errorf("%+v; want the end", out.Ended)
	}
	w.finish()
}

func TestBrokenBundles(t *testing.T) {
	for _, row := range []string{`{"1": 2}`, `[1]`, `["a", 2]`, `[1, 2, 3]`} {
		if err := eachBundled([]byte(row), func(graph.VarID, json.RawMessage) {}); !errors.Is(err, errBundle) {
			t.Errorf("%s: %v", row, err)
		}
	}
	got := map[graph.VarID]string{}
	if err := eachBundled([]byte(`[3,{"a": [1]},64,"x"]`), func(v graph.VarID, value json.RawMessage) { got[v] = string(value) }); err != nil || got[3] != `{"a": [1]}` || got[64] != `"x"` {
		t.Errorf("%v, %v", got, err)
	}
}
