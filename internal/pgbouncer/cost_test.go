package pgbouncer_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

const (
	costPairs     = 9  // measured, after one that is not
	costInstances = 20 // at once
	costElements  = 100
	costNodes     = costInstances * (costElements + 1) // and the aggregates
	// costGrowthMax bounds what a node may write and commit through a pooler, as a multiple of a direct connection's. The statements
	// are the same; batches are of other sizes, since commits take longer.
	costGrowthMax = 1.5
)

// cost is what one round took.
type cost struct {
	seconds      float64
	transactions int64 // that have written
	wal          int64 // bytes
}

// TestCost measures each design through a pooler, as a multiple of a direct connection: in pairs of rounds, whose order
// alternates. It logs a row of a table. What is written and committed is bounded; how long it takes is only shown.
func TestCost(t *testing.T) {
	if !depth.Night() {
		t.Skip("pairs of measured rounds take minutes: at night")
	}
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			f := newFaultsWorld(t, c.way, c.spec)
			b, err := c.spec.Open(f.ctx, designs.OpenOptions{DSN: f.direct, Schema: pgtest.Schema(t), Connections: 4, Application: f.schema, Lease: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(b.Close)
			direct := f.start(b)
			var speed, transactions, wal []float64
			for pair := range costPairs + 1 {
				var through, straight cost
				if pair%2 == 0 {
					through, straight = f.round(f.engine), f.round(direct)
				} else {
					straight, through = f.round(direct), f.round(f.engine)
				}
				if pair > 0 {
					speed = append(speed, straight.seconds/through.seconds)
					transactions = append(transactions, float64(through.transactions)/float64(straight.transactions))
					wal = append(wal, float64(through.wal)/float64(straight.wal))
				}
				if pair == costPairs {
					t.Logf("last pair, direct: %.0f nodes/s, %.3f transactions and %d bytes of WAL per node", costNodes/straight.seconds,
						float64(straight.transactions)/costNodes, straight.wal/costNodes)
				}
			}
			t.Logf("| %s | %s | %s | %s | %s |", c.way.name, c.spec, spread(speed), spread(transactions), spread(wal))
			if m := median(transactions); m > costGrowthMax {
				t.Errorf("%.2f times as many transactions as directly", m)
			}
			if m := median(wal); m > costGrowthMax {
				t.Errorf("%.2f times as many bytes of WAL as directly", m)
			}
		})
	}
}

func (f *faultsWorld) round(on *engine.Engine) cost {
	f.Helper()
	conn, err := pgx.Connect(f.ctx, f.direct)
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(f.ctx) }()
	read := func() (at cost) {
		const ask = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
		if err := conn.QueryRow(f.ctx, ask).Scan(&at.transactions, &at.wal); err != nil {
			f.Fatal(err)
		}
		return at
	}
	before, begun := read(), time.Now()
	ids := make([]uuid.UUID, costInstances)
	for i := range ids {
		ids[i] = f.submit(on, costElements)
	}
	for _, id := range ids {
		f.ends(on, id, costElements)
	}
	seconds := time.Since(begun).Seconds()
	after := read()
	return cost{seconds, after.transactions - before.transactions, after.wal - before.wal}
}

func median(all []float64) float64 { return slices.Sorted(slices.Values(all))[len(all)/2] }

// spread is the median, and the least and the most.
func spread(all []float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(all), slices.Min(all), slices.Max(all))
}
