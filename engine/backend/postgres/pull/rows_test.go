package pull_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/pull"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

const drivePatience = 15 * time.Minute

// rowsPerNode drives a fan-out of n on its own store, and returns the rows read per node. It closes the pool first: a session's
// statistics are complete when it has ended.
func rowsPerNode(t *testing.T, scan pull.Scan, n int, drive backendtest.DriveConfig) float64 {
	t.Helper()
	schema := pgtest.SchemaOf(t, "pull:scan="+string(scan))
	cfg := postgres.Config{DSN: pgtest.DSN(t), Schema: schema, Shards: 1, Application: schema}
	program := backendtest.MustCompile(t, `
fn main(input: [n], output: [r]):
    r = spread range(n):i -> @double(value=i)
`)
	ctx, cancel := context.WithTimeout(context.Background(), drivePatience)
	defer cancel()
	b, err := pull.Open(ctx, pull.Config{Store: cfg, Scan: scan})
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
	before := rowsRead(ctx, t, schema)

	if b, err = pull.Open(ctx, pull.Config{Store: cfg, Scan: scan}); err != nil {
		t.Fatal(err)
	}
	sub := backend.Submission{ID: uuid.New(), Program: program, Input: json.RawMessage(fmt.Sprintf(`{"n": %d}`, n))}
	rec, err := backendtest.Drive(ctx, b, []backend.Submission{sub}, drive)
	b.Close()
	if err != nil {
		t.Fatal(err)
	}
	if got := rec.Instances[sub.ID].Status; got != backend.Completed {
		t.Fatalf("the fan-out of %d is %s", n, got)
	}
	rows := float64(rowsRead(ctx, t, schema)-before) / float64(n)
	t.Logf("scan=%s, %d nodes: %.1f rows read per node", scan, n, rows)
	return rows
}

func rowsRead(ctx context.Context, t *testing.T, schema string) int64 {
	t.Helper()
	conn, err := pgx.Connect(ctx, pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for open := -1; open != 0; {
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", schema).Scan(&open); err != nil {
			t.Fatalf("waiting for the sessions of %s to end: %v", schema, err)
		}
	}
	var rows int64
	const sum = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables WHERE schemaname = $1"
	if err := conn.QueryRow(ctx, sum, schema).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRowsGrowWithTheWorkflow checks the known cost of the design: a node costs more in a larger instance, since every scan reads
// the instance again.
func TestRowsGrowWithTheWorkflow(t *testing.T) {
	for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
		t.Run(string(scan), func(t *testing.T) {
			last, lastSize := 0.0, 0
			for _, n := range depth.Of([]int{10, 200}, []int{10, 100, 500}) {
				rows := rowsPerNode(t, scan, n, backendtest.DriveConfig{Max: 8})
				if lastSize > 0 && rows < 2*last {
					t.Errorf("%.1f rows per node at %d nodes and %.1f at %d; it should at least double", last, lastSize, rows, n)
				}
				last, lastSize = rows, n
			}
		})
	}
}

// TestCompletionsShareACycle checks that completions of one call share one scan: the baseline does not scan more than it must.
func TestCompletionsShareACycle(t *testing.T) {
	for _, scan := range []pull.Scan{pull.ScanApp, pull.ScanSQL} {
		t.Run(string(scan), func(t *testing.T) {
			n := depth.Of(60, 200)
			single := rowsPerNode(t, scan, n, backendtest.DriveConfig{Max: n / 2, Batch: 1})
			shared := rowsPerNode(t, scan, n, backendtest.DriveConfig{Max: n / 2})
			if single < 4*shared {
				t.Errorf("%.1f rows per node one by one, %.1f in batches of up to %d; sharing should save most of them", single, shared, n/2)
			}
		})
	}
}
