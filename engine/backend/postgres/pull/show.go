package pull

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/internal/pgshow"
)

var (
	shownApp = pgshow.Design{Runs: ledger.MustSQL("show_runs"), Done: ledger.MustSQL("show_done"), Counts: ledger.MustSQL("show_counts")}
	shownSQL = pgshow.Design{Runs: shownApp.Runs, Done: shownApp.Done, Counts: shownApp.Counts, Barriers: ledger.MustSQL("show_barriers")}
)

var historySQL = ledger.MustSQL("show_history")

var (
	_ backend.Inspector = (*Backend)(nil)
	_ backend.Historian = (*Backend)(nil)
)

// History implements backend.Historian.
func (b *Backend) History(ctx context.Context, id uuid.UUID, most int) ([]backend.CompletedRun, error) {
	return pgshow.History(ctx, b.store, historySQL, id, most)
}

// replayMost bounds the completed node runs of an instance that is replayed for its barriers.
const replayMost = 10_000

// Inspect implements backend.Inspector. With scan=app no barrier is stored: a replay finds them, as a scan does.
func (b *Backend) Inspect(ctx context.Context, id uuid.UUID, most int) (backend.Snapshot, error) {
	if b.scan == ScanSQL {
		return shownSQL.Inspect(ctx, b.store, id, most, nil)
	}
	var in *scanned
	out, err := shownApp.Inspect(ctx, b.store, id, most, func(tx pgx.Tx, workflow int32, out *backend.Snapshot) (err error) {
		done := 0
		for _, n := range out.Done {
			done += n
		}
		if done > replayMost {
			out.Cut = true
			return nil
		}
		in, err = readLedger(ctx, tx, backend.ShardOf(id, b.Shards()), id)
		return err
	})
	if err != nil || in == nil || in.broken != nil || out.Program == nil {
		return out, err
	}
	r, err := rebuild(id, out.Program, in.input, in.completions)
	if err != nil {
		return out, nil // the next scan ends it as corrupt
	}
	r.inst.Barriers.Each(func(a state.Address, bar *state.Barrier) {
		if bar.Completed < bar.Required || bar.Required == 0 {
			run := graph.Run{Node: graph.NodeID(a.ID), Path: a.Path}
			out.Barriers = append(out.Barriers, backend.OpenBarrier{Run: run, Completed: int(bar.Completed), Required: int(bar.Required)})
		}
	})
	pgshow.Arrange(&out, most)
	return out, nil
}

func readLedger(ctx context.Context, tx pgx.Tx, shard int, id uuid.UUID) (*scanned, error) {
	c := &scanTx{shard: shard}
	batch := &pgx.Batch{}
	c.queueScan(batch, [][16]byte{id})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	return c.found[0], nil
}

// List implements backend.Inspector.
func (b *Backend) List(ctx context.Context, f backend.Filter) (backend.Page, error) {
	return shownApp.List(ctx, b.store, f)
}
