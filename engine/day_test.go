package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
	"pulley/internal/procstatus"
)

// A day is compressed into dayLength, after a minute in which the retention takes hold: a retention of a minute and a vacuum each
// second are as many as five hours and five minutes, of a day.
const (
	dayLength    = 5 * time.Minute
	dayRetention = time.Minute
	dayLoad      = 0.6 // of what the engine can do
	dayParts     = 10
	dayVariable  = "PULLEY_DAY" // its design; empty: push and journal
)

const daySource = `fn main(input: [n], output: [y]):
    xs = spread range(4):i -> @echo(value=[n, i])
    y = @echo(value=xs)
`

// day is an engine on a server of its own under load.
type day struct {
	*testing.T
	conn    *pgx.Conn
	engine  *engine.Engine
	program *plan.Program
	schema  string
	ended   atomic.Int64
}

// A day at 60 % of what an engine can do leaves tables, indexes and memory as large as they were in its first hours, and the engine as
// fast.
func TestADayCompressed(t *testing.T) {
	if !depth.Night() {
		t.Skip("it takes a quarter of an hour, and the whole machine: this is left to the night")
	}
	for _, name := range strings.Fields(cmp.Or(os.Getenv(dayVariable), "push journal")) {
		t.Run(name, func(t *testing.T) { spendDay(t, name) })
	}
}

func spendDay(t *testing.T, name string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	d := startDay(ctx, t, name)
	most := d.saturate(ctx, 15*time.Second)
	rate := dayLoad * most
	stop := d.offer(ctx, rate)
	if pause.For(ctx, dayRetention+dayRetention/2) != nil {
		t.Fatal(context.Cause(ctx))
	}
	var parts []dayPart
	for range dayParts {
		before := d.ended.Load()
		if pause.For(ctx, dayLength/dayParts) != nil {
			t.Fatal(context.Cause(ctx))
		}
		parts = append(parts, d.measure(ctx, float64(d.ended.Load()-before)/(dayLength/dayParts).Seconds()))
	}
	stop()
	after := d.saturate(ctx, 15*time.Second)
	t.Logf("%s: it could do %.0f instances a second before, and %.0f after; offered were %.0f", name, most, after, rate)
	for i, p := range parts {
		t.Logf("%2d/%d  %6.0f ended/s  %7.1f MB tables  %7.1f MB indexes  %6.1f MB memory  %7d instances", i+1, dayParts, p.rate, p.tables, p.indexes, p.memory, p.instances)
	}
	first, last := mean(parts[:dayParts/2]), mean(parts[dayParts/2:])
	for what, c := range map[string][2]float64{"tables": {first.tables, last.tables}, "indexes": {first.indexes, last.indexes}, "memory": {first.memory, last.memory}} {
		if c[1] > 1.2*c[0] {
			t.Errorf("%s grew from %.1f to %.1f MB between the halves of the day", what, c[0], c[1])
		}
	}
	if first, last := parts[0].rate, parts[dayParts-1].rate; last < 0.95*first {
		t.Errorf("%.0f instances a second ended in the first tenth, and %.0f in the last", first, last)
	}
	depth.Done(t, "before=%.0f after=%.0f offered=%.0f", most, after, rate)
}

func startDay(ctx context.Context, t *testing.T, name string) *day {
	t.Helper()
	dsn := pgtest.Exclusive(t).DSN()
	design, err := designs.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	d := &day{T: t, schema: "day_" + name, program: program(t, daySource, ir.Limits{})}
	if d.conn, err = pgx.Connect(ctx, dsn); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.conn.Close(context.WithoutCancel(ctx)) })
	for _, sql := range []string{"ALTER SYSTEM SET autovacuum_naptime = '1s'", "SELECT pg_reload_conf()"} {
		if _, err := d.conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	store, err := design.Open(ctx, designs.OpenOptions{DSN: dsn, Schema: d.schema, Application: "day"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	actions, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	d.engine, err = engine.New(engine.Config{
		Backend: store, Workers: actions, Batch: design.Batch(), Retention: dayRetention, Schedules: true, Signals: true, Limits: true,
		Observer: engine.Observer{
			Ended:   func(backend.Instance, time.Time) { d.ended.Add(1) },
			Problem: func(err error) { t.Logf("problem: %v", err) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.engine.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.engine.Stop(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *day) submit(ctx context.Context, n int) {
	reqs := make([]engine.SubmitRequest, n)
	for i := range reqs {
		reqs[i] = engine.SubmitRequest{Program: d.program, Input: fmt.Appendf(nil, `{"n": %d}`, i)}
	}
	if _, err := d.engine.SubmitAll(ctx, reqs); err != nil && ctx.Err() == nil {
		d.Error(err)
	}
}

// saturate returns how many instances a second end while as many as are useful wait.
func (d *day) saturate(ctx context.Context, length time.Duration) float64 {
	const open, batch = 4000, 200
	submitted := d.ended.Load()
	fill := func(length time.Duration) {
		for begun := time.Now(); time.Since(begun) < length && ctx.Err() == nil; {
			if submitted-d.ended.Load() >= open {
				_ = pause.For(ctx, time.Millisecond)
				continue
			}
			d.submit(ctx, batch)
			submitted += batch
		}
	}
	fill(length / 3) // it becomes warm
	begun, before := time.Now(), d.ended.Load()
	fill(length)
	rate := float64(d.ended.Load()-before) / time.Since(begun).Seconds()
	for d.ended.Load() < submitted && pause.For(ctx, 10*time.Millisecond) == nil {
	}
	return rate
}

// offer submits at a rate that does not wait for what has ended, until the returned function is called.
func (d *day) offer(ctx context.Context, rate float64) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var submitting sync.WaitGroup
	submitting.Go(func() {
		begun, submitted := time.Now(), 0
		for range pause.Ticks(ctx, 20*time.Millisecond) {
			if due := int(rate*time.Since(begun).Seconds()) - submitted; due > 0 {
				submitted += due
				submitting.Go(func() { d.submit(ctx, due) })
			}
		}
	})
	return func() {
		cancel()
		submitting.Wait()
	}
}

// dayPart is what was measured in and after a part of the day; sizes are in MB.
type dayPart struct {
	rate                    float64 // instances that ended in a second
	tables, indexes, memory float64
	instances               int64
}

func (d *day) measure(ctx context.Context, rate float64) dayPart {
	d.Helper()
	const sizes = `SELECT sum(pg_table_size(c.oid)) / 1e6, sum(pg_indexes_size(c.oid)) / 1e6 FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p')`
	p := dayPart{rate: rate, memory: float64(procstatus.Bytes(procstatus.Resident)) / 1e6}
	if err := d.conn.QueryRow(ctx, sizes, d.schema).Scan(&p.tables, &p.indexes); err != nil {
		d.Fatal(err)
	}
	if err := d.conn.QueryRow(ctx, "SELECT count(*) FROM "+d.schema+".instances").Scan(&p.instances); err != nil {
		d.Fatal(err)
	}
	return p
}

func mean(parts []dayPart) (m dayPart) {
	n := float64(len(parts))
	for _, p := range parts {
		m.tables, m.indexes, m.memory = m.tables+p.tables/n, m.indexes+p.indexes/n, m.memory+p.memory/n
	}
	return m
}
