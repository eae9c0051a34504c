package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/internal/pgstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

type host struct {
	*world.Host
	s  *Store
	pg *pgstore.Store // for the calls that package pgstore implements
}

var (
	_ journalstore.Store = (*host)(nil)
	_ journalstore.Pool  = (*host)(nil)
)

// Open implements world.Store: it opens a real journal.Backend.
func (s *Store) Open(on *world.Host) (world.Backend, error) {
	h := &host{Host: on, s: s}
	h.pg = pgsim.NewStore(h.Host, func(_ *pgsim.Conn, sql string, args []any) *pgsim.Statement { return s.Shared(sql, args) })
	leased := func(id uuid.UUID, run graph.Run, token int64, attempt, deliveries int) {
		s.World.Judge.Granted(s.World.InstanceOf(id), run, token, attempt, deliveries)
	}
	given := func(id uuid.UUID, run graph.Run, left int) {
		s.World.Judge.LeaseReturned(s.World.InstanceOf(id), run, left)
	}
	return journal.On(journalstore.Host{Store: h, Pool: h, Clock: h, Leased: leased, LeaseReturned: given}, journal.Config{
		Jitter: s.World.Rand.Float64, Lease: time.Duration(world.NS(s.World.LeaseUS)), EvictAfter: time.Duration(world.NS(s.World.EvictAfterUS)),
	})
}

// batch makes a round trip and reports whether anything was sent.
func (h *host) batch(ctx context.Context, list ...db.Statement) (sent bool, err error) {
	at, err := h.Connect(ctx)
	if err != nil {
		return false, err
	}
	err = h.Trip(ctx, at, list...)
	if errors.Is(err, world.ErrEnded) {
		return true, err
	}
	if at.Release(); err == nil && h.Process.World.Trace != nil {
		h.Process.World.Trace.Say(fmt.Sprintf("%s: %d rows", world.Names(list), len(list[0].(*pgsim.Statement).Out.List)))
	}
	return true, err
}

func (h *host) exec(ctx context.Context, counts bool, sql string, args []any) (*pgsim.Statement, bool, error) {
	a := h.s.statement(h, sql, args)
	a.Counts = counts
	sent, err := h.batch(ctx, a.Batch()...)
	return a, sent, err
}

// Query implements journalstore.Pool. Like the driver, it returns an error only if nothing was sent; other errors are in the
// rows.
func (h *host) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	a, sent, err := h.exec(ctx, false, sql, args)
	if !sent {
		return nil, err
	}
	return a.Answer(err), nil
}

func (h *host) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	a, _, err := h.exec(ctx, false, sql, args)
	return (*pgsim.OneRow)(a.Answer(err))
}

func (h *host) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	a, _, err := h.exec(ctx, true, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return a.Tag(), nil
}

func (h *host) Prepared(ctx context.Context, list ...journalstore.Prepared) ([]*pgconn.Result, error) {
	var batch []db.Statement
	var all []*pgsim.Statement
	for _, p := range list {
		a := h.s.prepared(h, p)
		all, batch = append(all, a), append(batch, a)
	}
	sent, err := h.batch(ctx, batch...)
	if !sent {
		return nil, journalstore.NotSent(err)
	}
	if err != nil && !errors.Is(err, world.ErrEnded) && h.Process.World.Bug == cases.BugUnknownIsFailure {
		err = db.ErrCanceled
	}
	var out []*pgconn.Result
	for _, a := range all {
		if a.Done() {
			out = append(out, &pgconn.Result{Rows: [][][]byte{a.Wire}})
		}
	}
	return out, err
}

func (h *host) Shards() int { return h.Process.World.Shards }

// Number implements journalstore.Store. All instances of a world run one program.
func (h *host) Number(context.Context, *plan.Program) (int32, error) { return 1, nil }

func (h *host) Program(context.Context, int32) (*plan.Program, error) {
	return h.Process.World.Workload.Compiled, nil
}

func (h *host) Incarnation(ctx context.Context) (string, error) { return h.pg.Incarnation(ctx) }

func (h *host) Outlived(life string) { h.pg.Outlived(life) }

func (h *host) Retry(ctx context.Context, doing, remedy string, try func() error) error {
	return h.pg.Retry(ctx, doing, remedy, try)
}

func (h *host) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	a := &pgsim.Statement{}
	a.Then(func(x *db.Exec) error {
		for i, id := range ids {
			out[i].ID = id
			if v := h.s.Instances.Get(x, int32(h.Process.World.InstanceOf(id).Index)); v != nil {
				out[i].Status, out[i].Result, out[i].Failure = v.Value.Status, v.Value.Result, v.Value.Failure
			}
		}
		return nil
	})
	_, err := h.batch(ctx, a)
	return out, err
}

func (h *host) Channel(topic string) string { return topic }

func (h *host) Notify(ctx context.Context) error {
	a := &pgsim.Statement{}
	a.Notify("", h.Name)
	_, err := h.batch(ctx, a)
	return err
}

func (h *host) Listen(ctx context.Context, wake func()) error {
	return h.listen(ctx, "", func(payload string) {
		if payload != h.Name {
			wake()
		}
	})
}

func (h *host) ListenTo(ctx context.Context, topic string, heard func(payload string)) error {
	return h.listen(ctx, topic, heard)
}

// listen listens until the connection breaks or the context ends.
func (h *host) listen(ctx context.Context, channel string, heard func(payload string)) error {
	var at *world.Conn
	err := h.Process.Await(ctx, func(end func(error)) {
		h.Process.Connect(func(c *world.Conn, err error) {
			if at = c; err != nil {
				end(err)
				return
			}
			c.Send([]db.Statement{&pgsim.Statement{}}, end)
		})
	}, func(error) {
		if at != nil {
			at.Close()
		}
	})
	if err != nil {
		return err
	}
	e := &world.ListenConn{Channel: channel, Conn: at, OnNotify: heard}
	h.ListenConns = append(h.ListenConns, e)
	if channel != "" {
		heard("") // a notification may have been missed
	}
	err = h.Process.Await(ctx, func(end func(error)) { at.Watch(end) }, func(error) {})
	for i := range h.ListenConns {
		if h.ListenConns[i] == e {
			h.ListenConns = append(h.ListenConns[:i], h.ListenConns[i+1:]...)
			break
		}
	}
	if errors.Is(err, world.ErrEnded) {
		at.Unwatch()
		at.Close()
		return nil
	}
	return err
}

func (h *host) Close() {}

func (h *host) Problem(context.Context, string, error) {}
