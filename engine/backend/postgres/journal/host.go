package journal

import (
	"context"
	"embed"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/engine/backend/postgres/journal/internal/forward"
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgdial"
	"pulley/internal/pgstore"
)

type server struct {
	journalstore.Store
	Pool journalstore.Pool
}

func poolOf(store *pgstore.Store) journalstore.Pool {
	if t := store.Transactions(); t != nil {
		return transactions{t}
	}
	return pool{store.Pgx()}
}

// transactions is a pool through a pooler of transactions.
type transactions struct{ *pgdial.Transactions }

// Prepared implements journalstore.Pool.
func (t transactions) Prepared(ctx context.Context, list ...journalstore.Prepared) ([]*pgconn.Result, error) {
	texts, params := make([]string, len(list)), make([][][]byte, len(list))
	for i := range list {
		texts[i], params[i] = list[i].SQL, list[i].Params
	}
	results, sent, err := t.Transactions.Prepared(ctx, texts, params)
	if err != nil && !sent {
		err = journalstore.NotSent(err)
	}
	return results, err
}

type pool struct{ *pgxpool.Pool }

// Prepared implements journalstore.Pool.
func (p pool) Prepared(ctx context.Context, list ...journalstore.Prepared) ([]*pgconn.Result, error) {
	shared, err := p.Acquire(ctx)
	if err != nil {
		return nil, journalstore.NotSent(err)
	}
	defer shared.Release()
	conn := shared.Conn()
	for i := range list {
		if _, err := conn.Prepare(ctx, list[i].Name, list[i].SQL); err != nil {
			return nil, journalstore.NotSent(err)
		}
	}
	if len(list) == 1 {
		result := conn.PgConn().ExecPrepared(ctx, list[0].Name, list[0].Params, binaryFormat, binaryFormat).Read()
		return []*pgconn.Result{result}, result.Err
	}
	var batch pgconn.Batch
	for i := range list {
		batch.ExecPrepared(list[i].Name, list[i].Params, binaryFormat, binaryFormat)
	}
	return conn.PgConn().ExecBatch(ctx, &batch).ReadAll()
}

func (b *Backend) runInBackground(f func()) {
	b.tasks.Add(1)
	b.clock.Go(func() {
		defer func() {
			b.tasks.Add(-1)
			pgstore.Signal(b.backgroundEnded)
		}()
		f()
	})
}

func (b *Backend) awaitBackground() {
	for b.tasks.Load() > 0 {
		b.clock.Wait(context.Background(), -1, b.backgroundEnded)
	}
}

func (b *Backend) pause(ctx context.Context, pause time.Duration) bool {
	return b.clock.Wait(ctx, pause) == pgstore.TimedOut
}

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement as it is sent, by file name. Appends have no fixed text.
func SQL(name string) (string, error) {
	for _, of := range []func(string) (string, error){forward.SQL, ownership.SQL} {
		if text, err := of(name); err == nil {
			return text, nil
		}
	}
	return pgstore.Statement(statementFiles, name)
}

// Append implements journalstore.Appending.
func (t *tx) Append() journalstore.Append {
	a := journalstore.Append{Shard: t.sh.number, Epoch: t.sh.epoch.Load(), SkipExisting: t.sh.buf.kinds&skipExisting != 0}
	seq := t.sh.seq
	for i := range t.events {
		e := &t.events[i]
		out := journalstore.AppendedEvent{Instance: e.inst.ID, Run: e.key, Kind: e.kind, Timed: e.timed, Token: e.token, Data: e.data}
		if !e.inst.Detached {
			out.Seq = seq
			seq++
		}
		a.Events = append(a.Events, out)
	}
	for i := range t.ends {
		a.Ends = append(a.Ends, journalstore.AppendedEnd{Instance: t.ends[i].public, Token: t.ends[i].token})
	}
	for i := range t.created {
		a.Created = append(a.Created, journalstore.AppendedEnd{Instance: t.created[i].public, Input: t.created[i].input, Token: t.created[i].token})
	}
	return a
}

// Memory implements journalstore.Appending.
func (t *tx) Memory(id uuid.UUID, m journalstore.Memory) bool {
	inst := t.sh.instances[id]
	if inst == nil {
		return false
	}
	inst.Runs.Each(func(_ state.Address, r *state.Run) { m.Run(r.Key, int(r.Attempt)) })
	inst.Barriers.Each(func(a state.Address, b *state.Barrier) {
		n := 0
		for _, e := range b.Elements {
			if e != nil {
				n++
			}
		}
		m.Barrier(graph.Run{Node: graph.NodeID(a.ID), Path: a.Path}, int(b.Required), int(b.Completed), n, b.Soft)
	})
	inst.Slots.Each(func(a state.Address, v state.Value) {
		m.Value(plan.Slot{Var: graph.VarID(a.ID), Scope: a.Path}, v.Base, len(v.Appended))
	})
	return true
}
