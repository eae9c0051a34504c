package explore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres/journal"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// journalHost is what a journal.Backend stands on in a process: the world's server, network and time.
type journalHost struct {
	p    *process
	s    *journalStore
	name string // in notifications
	ears []*ear
}

// ear is a connection that listens.
type ear struct {
	channel string
	conn    *conn
	heard   func(payload string)
}

var (
	_ journal.Store = (*journalHost)(nil)
	_ journal.Pool  = (*journalHost)(nil)
	_ journal.Clock = (*journalHost)(nil)
)

// Now implements journal.Clock.
func (h *journalHost) Now() time.Time { return h.p.wall() }

// NewID implements journal.Clock.
func (h *journalHost) NewID() uuid.UUID {
	h.s.ids++
	return h.p.w.newID(1<<12 + int(h.s.ids))
}

// Go implements journal.Clock.
func (h *journalHost) Go(f func()) { h.p.begins(f) }

// Within implements journal.Clock.
func (h *journalHost) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(ctx)
	p := h.p
	p.w.after(p.until(p.now()+int64(d)), p, func() {
		cancel()
		p.stirred = true
	})
	return inner, func() {
		cancel()
		p.stirred = true
	}
}

// Wait implements journal.Clock.
func (h *journalHost) Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int {
	p := h.p
	t := p.w.running
	t.wait++
	wait, got, over := t.wait, journal.Rested, false
	ready := func() bool {
		for i, c := range from {
			select {
			case <-c:
				got = i
				return true
			default:
			}
		}
		if ctx.Err() != nil {
			got = journal.Ended
			return true
		}
		return over
	}
	if ready() {
		return got
	}
	if pause >= 0 {
		p.w.after(p.until(p.now()+int64(pause)), p, func() {
			if over = true; t.wait == wait && t.parked {
				t.run()
			}
		})
	}
	t.park(ready)
	t.wait++
	return got
}

// batch makes a round trip, and says whether anything was sent.
func (h *journalHost) batch(ctx context.Context, list ...db.Statement) (sent bool, err error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var at *conn
	err = h.p.await(ctx, func(end func(error)) {
		h.p.connect(func(c *conn, err error) {
			at = c
			end(err)
		})
	}, func(err error) {
		if err == nil {
			at.release()
		}
	})
	if err != nil {
		return false, err
	}
	err = h.p.await(ctx, func(end func(error)) {
		at.send(list, end)
		if h.p.w.trace != nil {
			h.p.w.trace.say(names(list))
		}
	}, func(error) {})
	if errors.Is(err, errEnded) {
		at.close()
		return true, fmt.Errorf("%w: %w", err, ctx.Err())
	}
	if at.release(); err == nil && h.p.w.trace != nil {
		h.p.w.trace.say(fmt.Sprintf("%s: %d rows", names(list), len(list[0].(*asked).rows)))
	}
	return true, err
}

// names says for people which statements there are.
func names(list []db.Statement) string {
	var out []string
	for _, s := range list {
		out = append(out, s.(*asked).name)
	}
	return strings.Join(out, ", ")
}

// ask makes a statement by itself.
func (h *journalHost) ask(ctx context.Context, sql string, args []any) (*asked, bool, error) {
	a := h.s.statement(h, sql, args)
	sent, err := h.batch(ctx, a)
	return a, sent, err
}

// Query implements journal.Pool. As the driver does, it gives an error itself only if nothing was sent; others are those
// of the rows.
func (h *journalHost) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	a, sent, err := h.ask(ctx, sql, args)
	if !sent {
		return nil, err
	}
	return &rows{list: a.rows, err: err}, nil
}

// QueryRow implements journal.Pool.
func (h *journalHost) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	a, _, err := h.ask(ctx, sql, args)
	return oneRow{rows{list: a.rows, err: err}}
}

// Exec implements journal.Pool.
func (h *journalHost) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	a, _, err := h.ask(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	return pgconn.NewCommandTag(fmt.Sprintf("UPDATE %d", a.affected)), nil
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
	err = h.p.await(ctx, func(end func(error)) { at.reply = end }, func(error) {})
	for i := range h.ears {
		if h.ears[i] == e {
			h.ears = append(h.ears[:i], h.ears[i+1:]...)
			break
		}
	}
	if errors.Is(err, errEnded) {
		at.reply = nil
		at.close()
		return nil
	}
	return err
}

// Close implements journal.Store.
func (h *journalHost) Close() {}

// notice is what a transaction tells those who listen.
type notice struct{ channel, payload string }

// deliver has a notice travel to those who listen.
func (w *world) deliver(n notice) {
	for _, p := range w.engines {
		c, ok := p.client.(*journalClient)
		if !ok || !p.alive {
			continue
		}
		for _, e := range c.host.ears {
			if e.channel != n.channel || e.conn.broken {
				continue
			}
			w.after(p.latency(), p, func() {
				switch {
				case e.conn.broken || e.conn.told:
				case w.now < p.deaf:
					w.note(Unheard, p.index, 0, 0, 0)
				default:
					w.note(Woken, p.index, int64(len(n.channel)), 0, 0)
					e.heard(n.payload)
					p.stirred = true
				}
			})
		}
	}
}
