package push

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/internal/designtest"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// steepest is the largest logarithmic slope that counts as linear.
const steepest = 1.05

// steepestEntries is that for index entries, which include those of dead rows: their number depends on when pages were cleaned.
const steepestEntries = 1.2

var loops = map[string]backendtest.Workflow{
	"plain": {Name: "plain", Source: `
fn main(input: [n], output: [r]):
    r = 0
    for i in range(n):
        a = @double(value=i)
        b = @add(a=a, b=1)
        r = @echo(value=b)
`},
	"collecting": designtest.Collecting,
}

type cost struct {
	rounds  int
	rows    int64 // read from tables
	entries int64 // read from indexes, including those of dead rows
	wal     int64 // bytes
	time    time.Duration
}

func (c cost) String() string {
	n := float64(c.rounds)
	return fmt.Sprintf("%d rounds: each %.1f rows, %.1f index entries, %.0f bytes of WAL, %.0f µs",
		c.rounds, float64(c.rows)/n, float64(c.entries)/n, float64(c.wal)/n, float64(c.time.Microseconds())/n)
}

type meter struct {
	testing.TB
	ctx    context.Context
	conn   *pgx.Conn
	schema string
}

func newMeter(t testing.TB) *meter {
	t.Helper()
	schema := pgtest.Schema(t)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	conn, err := pgx.Connect(ctx, pgtest.Undisturbed(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close(context.WithoutCancel(ctx))
		cancel()
	})
	return &meter{TB: t, ctx: ctx, conn: conn, schema: schema}
}

func (m *meter) number(sql string, args ...any) (n int64) {
	m.Helper()
	if err := m.conn.QueryRow(m.ctx, sql, args...).Scan(&n); err != nil {
		m.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (m *meter) read() cost {
	m.Helper()
	for open := int64(-1); open != 0; {
		open = m.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", m.schema)
	}
	return cost{
		rows:    m.number("SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables WHERE schemaname = $1", m.schema),
		entries: m.number("SELECT sum(idx_tup_read)::bigint FROM pg_stat_user_indexes WHERE schemaname = $1", m.schema),
		wal:     m.wal(),
	}
}

func (m *meter) config() postgres.Config {
	m.Helper()
	return postgres.Config{DSN: pgtest.Undisturbed(m).DSN(), Schema: m.schema, Shards: 1, Application: m.schema}
}

func (m *meter) wal() int64 {
	m.Helper()
	return m.number("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint")
}

func loop(t testing.TB, wf backendtest.Workflow, rounds int) cost {
	t.Helper()
	m := newMeter(t)
	cfg := m.config()
	open(t, cfg).Close()
	before := m.read()
	b := open(t, cfg)
	start := time.Now()
	drive(m.ctx, t, b, wf, rounds, func() {})
	c := cost{rounds: rounds, time: time.Since(start)}
	b.Close()
	after := m.read()
	c.rows, c.entries, c.wal = after.rows-before.rows, after.entries-before.entries, after.wal-before.wal
	return c
}

func drive(ctx context.Context, t testing.TB, b *Backend, wf backendtest.Workflow, rounds int, each func()) {
	t.Helper()
	sub := backend.Submission{ID: uuid.New(), Program: wf.Program(t), Input: fmt.Appendf(nil, `{"n": %d}`, rounds)}
	out, err := b.Submit(ctx, []backend.Submission{sub}, backendtest.Granted(1))
	completed := 0
	for ; err == nil && len(out.Tasks) == 1; completed++ {
		each()
		out, err = b.Complete(ctx, 0, []backend.Completion{backendtest.Ran(out.Tasks[0])}, backendtest.Granted(1))
	}
	if err != nil || len(out.Ended) != 1 || out.Ended[0].Status != backend.Completed || completed != 3*rounds {
		t.Fatalf("after %d completions %d tasks, %+v, %v; want the end after %d", completed, len(out.Tasks), out.Ended, err, 3*rounds)
	}
}

func slope(costs []cost, y func(cost) float64) float64 {
	var xs, ys []float64
	for _, c := range costs {
		xs, ys = append(xs, float64(c.rounds)), append(ys, y(c))
	}
	return designtest.Slope(xs, ys)
}

func linear(t testing.TB, wf backendtest.Workflow, sizes []int, timed bool) {
	t.Helper()
	loop(t, wf, sizes[0]) // what is done once per server
	var costs []cost
	for _, n := range sizes {
		costs = append(costs, loop(t, wf, n))
		t.Log(costs[len(costs)-1])
	}
	for what, y := range map[string]func(cost) float64{
		"rows read":          func(c cost) float64 { return float64(c.rows) },
		"index entries read": func(c cost) float64 { return float64(c.entries) },
		"bytes of WAL":       func(c cost) float64 { return float64(c.wal) },
		"time":               func(c cost) float64 { return c.time.Seconds() },
	} {
		s := slope(costs, y)
		t.Logf("%s: slope %.3f", what, s)
		most := steepest
		if what == "index entries read" {
			most = steepestEntries
		}
		if s > most && (timed || what != "time") {
			t.Errorf("the %s of a loop grow with slope %.3f; at most %.2f is linear: %v", what, s, most, costs)
		}
	}
}

func TestLoopsAreLinear(t *testing.T) {
	for name, wf := range loops {
		t.Run(name, func(t *testing.T) { linear(t, wf, depth.Of([]int{40, 240}, []int{100, 200, 400, 800}), false) })
	}
}

// BenchmarkLoopsAreLinear checks up to 10,000 rounds, including the time. Run it with -benchtime 1x on an idle machine.
func BenchmarkLoopsAreLinear(b *testing.B) {
	for name, wf := range loops {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				linear(b, wf, []int{100, 300, 1_000, 3_000, 10_000}, true)
			}
		})
	}
}

func TestLoopsHoldFewRows(t *testing.T) {
	const most = 12
	rounds := depth.Of(40, 240)
	for name, wf := range loops {
		w := newWorld(t)
		held := int64(0)
		drive(w.Ctx, t, w.direct, wf, rounds, func() {
			var n int64
			if err := w.direct.store.Pool.QueryRow(w.Ctx, `
				SELECT (SELECT count(*) FROM queue) + (SELECT count(*) FROM readiness) + (SELECT count(*) FROM elements)
					+ (SELECT count(*) FROM inbox WHERE element < 0)`).Scan(&n); err != nil {
				t.Fatal(err)
			}
			held = max(held, n)
		})
		if held > most {
			t.Errorf("%s: %d rows were held; want at most %d", name, held, most)
		}
	}
}

// Programs that pass one value to many runs.
var handings = map[string]backendtest.Workflow{
	"to actions": {Name: "to actions", Source: `
fn main(input: [n], output: [k]):
    big = @echo(value="big")
    r = spread range(n):i -> @echo(value=big, place=i)
    k = len(r)
`},
	"to functions": {Name: "to functions", Source: `
fn each(input: [v, i], output: [r]):
    a = @echo(value=i)
    r = @echo(value=v, place=a)

fn main(input: [n], output: [k]):
    big = @echo(value="big")
    r = spread range(n):i -> each(v=big, i=i)
    k = len(r)
`},
	"to functions, some at a time": {Name: "to functions, some at a time", Source: `
fn each(input: [v, i], output: [r]):
    a = @echo(value=i)
    r = @echo(value=v, place=a)

fn main(input: [n], output: [k]):
    big = @echo(value="big")
    r = spread range(n):i limit 20 -> each(v=big, i=i)
    k = len(r)
`},
}

// TestLargeValueIsWrittenOnce checks that passing a value of 100 kB to many runs writes it once (D12).
func TestLargeValueIsWrittenOnce(t *testing.T) {
	runs := depth.Of(150, 1_000)
	large := hexadecimal(100_000)
	for name, wf := range handings {
		t.Run(name, func(t *testing.T) {
			small, big := hand(t, wf, runs, `"small"`), hand(t, wf, runs, large)
			t.Logf("%d bytes of WAL with a small value, %d with a large one", small, big)
			if more := big - small; more < int64(len(large))/2 || more > 3*int64(len(large)) {
				t.Errorf("a value of %d bytes for %d runs takes %d more bytes of WAL than a small one; it is to be written once", len(large), runs, more)
			}
		})
	}
}

func hexadecimal(size int) string {
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		fmt.Fprintf(&text, "%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	return `"` + text.String()[:size] + `"`
}

func hand(t *testing.T, wf backendtest.Workflow, runs int, value string) int64 {
	t.Helper()
	m := newMeter(t)
	b := open(t, m.config())
	before := m.wal()
	out, err := b.Submit(m.ctx, []backend.Submission{{ID: uuid.New(), Program: wf.Program(t), Input: fmt.Appendf(nil, `{"n": %d}`, runs)}}, backendtest.Granted(1))
	if err != nil {
		t.Fatal(err)
	}
	first := backendtest.Ran(out.Tasks[0])
	first.Result = json.RawMessage(value)
	for cs := []backend.Completion{first}; len(cs) > 0; {
		if out, err = b.Complete(m.ctx, 0, cs, backendtest.Granted(0)); err != nil || strings.Count(backendtest.Answers(out), "applied") != len(cs) {
			t.Fatalf("%s, %v", backendtest.Answers(out), err)
		}
		if n := m.holding(); n > 1 {
			t.Fatalf("%d rows hold the large value", n)
		}
		if cs = nil; len(out.Ended) > 0 {
			break
		}
		if out, err = b.Claim(m.ctx, 0, backendtest.Granted(50)); err != nil {
			t.Fatal(err)
		}
		for _, task := range out.Tasks {
			cs = append(cs, backend.Completion{Lease: task.Lease, Program: task.Program, Attempt: task.Attempt, Result: json.RawMessage(`1`)})
		}
	}
	if len(out.Ended) != 1 || string(out.Ended[0].Result) != fmt.Sprint(runs) {
		t.Fatalf("%+v; want the end of all %d runs", out.Ended, runs)
	}
	return m.wal() - before
}

func (m *meter) holding() int64 {
	m.Helper()
	schema := pgx.Identifier{m.schema}.Sanitize()
	return m.number(`SELECT (SELECT count(*) FROM ` + schema + `.inbox WHERE length(value::text) > 50000)
		+ (SELECT count(*) FROM ` + schema + `.queue WHERE length(args::text) > 50000)`)
}
