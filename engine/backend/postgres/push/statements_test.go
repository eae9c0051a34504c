package push

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/pgtest"
)

func TestStatements(t *testing.T) {
	w := newWorld(t)
	conn, err := w.direct.store.Pgx().Acquire(w.Ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	all := newArrays().args
	for line := range strings.Lines(applySQL) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--[ "); ok && kindNames[name] == 0 {
			t.Errorf("apply.sql has a part %q, of which nothing is known", name)
		}
	}
	for i := range int(everything) + 1 {
		k := kinds(i)
		if k&retries != 0 && k&completions == 0 {
			continue
		}
		s, of := statementFor(k, 1)
		if of != k || strings.Contains(s.sql, "--") {
			t.Fatalf("%08b: a statement for %08b, with remarks: %t", k, of, strings.Contains(s.sql, "--"))
		}
		got, err := conn.Conn().Prepare(w.Ctx, fmt.Sprint("s", k), s.sql)
		if err != nil {
			t.Fatalf("%08b: %v in\n%s", k, err, s.sql)
		}
		if len(got.ParamOIDs) != len(s.parameters) || !slices.Contains(s.parameters, argShard) || slices.Max(s.parameters) >= len(all) {
			t.Errorf("%08b: the server wants %d parameters, of which %v are given", k, len(got.ParamOIDs), s.parameters)
		}
	}
	if s, of := statementFor(completions, smallBatch+1); of != everything || len(s.parameters) != len(all) {
		t.Errorf("a great batch has a statement for %08b with %d of %d parameters", of, len(s.parameters), len(all))
	}
}

// TestRoundTrips counts the round trips of completions: one, unless values are read or something arrives at a barrier.
func TestRoundTrips(t *testing.T) {
	var n pgtest.Statements
	b := open(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1, Tracer: &n})
	ctx := t.Context()
	start := func(wf backendtest.Workflow) []backend.Task {
		out, err := b.Submit(ctx, []backend.Submission{{ID: uuid.New(), Program: wf.Program(t), Input: []byte(wf.Input)}}, backendtest.Granted(9))
		if err != nil {
			t.Fatal(err)
		}
		return out.Tasks
	}
	complete := func(task backend.Task) []backend.Task {
		out, err := b.Complete(ctx, 0, []backend.Completion{backendtest.Ran(task)}, backendtest.Granted(9))
		if err != nil || backendtest.Answers(out) != "applied" {
			t.Fatal(backendtest.Answers(out), err)
		}
		return out.Tasks
	}
	for name, c := range map[string]struct {
		task              func() backend.Task
		trips, statements int64
	}{
		"a hop":      {func() backend.Task { return start(chained(9))[0] }, 1, 1},
		"an end":     {func() backend.Task { return start(designtest.Alone)[0] }, 1, 2},
		"a round":    {func() backend.Task { return complete(start(designtest.Looping)[0])[0] }, 2, 3},
		"an arrival": {func() backend.Task { return start(designtest.Joining)[0] }, 2, 3},
		"the last":   {func() backend.Task { tasks := start(designtest.Joining); complete(tasks[0]); return tasks[1] }, 3, 5},
		"the last of all": {func() backend.Task {
			tasks := start(designtest.Fanned)
			complete(tasks[0])
			complete(tasks[1])
			return tasks[2]
		}, 3, 7}, // lock_timeout is set before the continuation
	} {
		task := c.task()
		trips, statements := n.Trips.Load(), n.Sent.Load()
		complete(task)
		if trips, statements = n.Trips.Load()-trips, n.Sent.Load()-statements; trips != c.trips || statements != c.statements {
			t.Errorf("%s takes %d round trips and %d statements; want %d and %d", name, trips, statements, c.trips, c.statements)
		}
	}
}

// TestRowsPerNode counts the rows that a fan-out writes in batches: a queue row per node, and little else.
func TestRowsPerNode(t *testing.T) {
	const nodes, most = 500, 2.3
	m := newMeter(t)
	b := open(t, m.config())
	p := designtest.Fanned.Program(t)
	tasks := m.must(b.Submit(m.ctx, []backend.Submission{{ID: uuid.New(), Program: p, Input: fmt.Appendf(nil, `{"n": %d}`, nodes)}}, backendtest.Granted(nodes))).Tasks
	for batch := range slices.Chunk(tasks, 100) {
		var cs []backend.Completion
		for _, task := range batch {
			cs = append(cs, backendtest.Ran(task))
		}
		m.must(b.Complete(m.ctx, 0, cs, backendtest.Granted(nodes)))
	}
	b.Close()
	m.read() // when its sessions have ended, their counters are complete
	written := m.number("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables WHERE schemaname = $1", m.schema)
	if per := float64(written) / nodes; per > most || written < 2*nodes {
		t.Errorf("%d rows were written, %.2f per node; want at least 2 and at most %.1f", written, per, most)
	}
}

func (m *meter) must(out backend.Committed, err error) backend.Committed {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
	return out
}
