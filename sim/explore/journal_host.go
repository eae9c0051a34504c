package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// journalHost is what a journal.Backend stands on in a process.
type journalHost struct {
	*host
	s  *journalStore
	pg *postgres.Store // for what that does itself
}

var (
	_ journal.Store = (*journalHost)(nil)
	_ journal.Pool  = (*journalHost)(nil)
)

// open implements store: a journal.Backend, the real code.
func (s *journalStore) open(on *host) (hosted, error) {
	h := &journalHost{host: on, s: s}
	h.pg = newPgStore(h.host, func(_ *pgConn, sql string, args []any) *asked { return s.shared(sql, args) })
	leased := func(id uuid.UUID, run graph.Run, token int64, attempt int) {
		s.w.judge.granted(s.w.instanceOf(id), run, token, attempt)
	}
	return journal.On(journal.Host{Store: h, Pool: h, Clock: h, Leased: leased}, journal.Config{
		Jitter: s.w.rng.Float64, Lease: time.Duration(us(s.w.LeaseUS)), Park: time.Duration(us(s.w.ParkUS)),
	})
}

// batch makes a round trip on a connection of the pool, and says whether anything was sent.
func (h *journalHost) batch(ctx context.Context, list ...db.Statement) (sent bool, err error) {
	at, err := h.connect(ctx)
	if err != nil {
		return false, err
	}
	err = h.trip(ctx, at, list...)
	if errors.Is(err, errEnded) {
		return true, err
	}
	if at.release(); err == nil && h.p.w.trace != nil {
		h.p.w.trace.say(fmt.Sprintf("%s: %d rows", names(list), len(list[0].(*asked).out.list)))
	}
	return true, err
}

// ask makes a statement by itself.
func (h *journalHost) ask(ctx context.Context, counts bool, sql string, args []any) (*asked, bool, error) {
	a := h.s.statement(h, sql, args)
	a.counts = counts
	sent, err := h.batch(ctx, a.batch()...)
	return a, sent, err
}

// Query implements journal.Pool. As the driver does, it gives an error itself only if nothing was sent; others are those
// of the rows.
func (h *journalHost) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	a, sent, err := h.ask(ctx, false, sql, args)
	if !sent {
		return nil, err
	}
	return a.answer(err), nil
}

// QueryRow implements journal.Pool.
func (h *journalHost) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	a, _, err := h.ask(ctx, false, sql, args)
	return (*oneRow)(a.answer(err))
}

// Exec implements journal.Pool.
func (h *journalHost) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	a, _, err := h.ask(ctx, true, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return a.tag(), nil
}

// Prepared implements journal.Pool.
func (h *journalHost) Prepared(ctx context.Context, list ...journal.Prepared) ([]*pgconn.Result, error) {
	var batch []db.Statement
	var all []*asked
	for _, p := range list {
		a := h.s.prepared(h, p)
		all, batch = append(all, a), append(batch, a)
	}
	sent, err := h.batch(ctx, batch...)
	if !sent {
		return nil, journal.NotSent(err)
	}
	if err != nil && !errors.Is(err, errEnded) && h.p.w.Bug == bugUnknownIsFailure {
		err = db.ErrCanceled
	}
	var out []*pgconn.Result
	for _, a := range all {
		if a.done() {
			out = append(out, &pgconn.Result{Rows: [][][]byte{a.wire}})
		}
	}
	return out, err
}

// Shards implements journal.Store.
func (h *journalHost) Shards() int { return h.p.w.Shards }

// Number implements journal.Store. All instances of a world run the same program, which every process has met.
func (h *journalHost) Number(context.Context, *plan.Program) (int32, error) { return 1, nil }

// Program implements journal.Store.
func (h *journalHost) Program(context.Context, int32) (*plan.Program, error) {
	return h.p.w.load.compiled, nil
}

// Life implements journal.Store.
func (h *journalHost) Life(ctx context.Context) (string, error) { return h.pg.Life(ctx) }

// Outlived implements journal.Store.
func (h *journalHost) Outlived(life string) { h.pg.Outlived(life) }

// Lookup implements journal.Store.
func (h *journalHost) Lookup(ctx context.Context, ids []uuid.UUID) ([]backend.Instance, error) {
	out := make([]backend.Instance, len(ids))
	a := &asked{}
	a.then(func(x *db.Exec) error {
		for i, id := range ids {
			out[i].ID = id
			if v := h.s.instances.Get(x, int32(h.p.w.instanceOf(id).index)); v != nil {
				out[i].Status, out[i].Result, out[i].Failure = v.Value.status, v.Value.result, v.Value.failure
			}
		}
		return nil
	})
	_, err := h.batch(ctx, a)
	return out, err
}

// Channel implements journal.Store.
func (h *journalHost) Channel(topic string) string { return topic }

// Notify implements journal.Store.
func (h *journalHost) Notify(ctx context.Context) error {
	a := &asked{}
	a.notify("", h.name)
	_, err := h.batch(ctx, a)
	return err
}

// Listen implements journal.Store.
func (h *journalHost) Listen(ctx context.Context, wake func()) error {
	return h.listen(ctx, "", func(payload string) {
		if payload != h.name {
			wake()
		}
	})
}

// ListenTo implements journal.Store.
func (h *journalHost) ListenTo(ctx context.Context, topic string, heard func(payload string)) error {
	return h.listen(ctx, topic, heard)
}

// listen holds a connection until it breaks or the context has ended.
func (h *journalHost) listen(ctx context.Context, channel string, heard func(payload string)) error {
	var at *conn
	err := h.p.await(ctx, func(end func(error)) {
		h.p.connect(func(c *conn, err error) {
			if at = c; err != nil {
				end(err)
				return
			}
			c.send([]db.Statement{&asked{}}, end)
		})
	}, func(error) {
		if at != nil {
			at.close()
		}
	})
	if err != nil {
		return err
	}
	e := &ear{channel, at, heard}
	h.ears = append(h.ears, e)
	if channel != "" {
		heard("") // something may have been told before
	}
	err = h.p.await(ctx, func(end func(error)) { at.watch(end) }, func(error) {})
	for i := range h.ears {
		if h.ears[i] == e {
			h.ears = append(h.ears[:i], h.ears[i+1:]...)
			break
		}
	}
	if errors.Is(err, errEnded) {
		at.unwatch()
		at.close()
		return nil
	}
	return err
}

// Close implements journal.Store.
func (h *journalHost) Close() {}

// Problem implements journal.Store: nobody wants to know.
func (h *journalHost) Problem(context.Context, string, error) {}
