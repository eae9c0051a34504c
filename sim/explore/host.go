package explore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/sim/db"
)

// host is what the real code of a design stands on in a process: the world's server, network and time. Whatever waits,
// waits in one of its calls, as the thread that made it.
type host struct {
	p    *process
	name string // in notifications
	ears []*ear
}

// ear is a connection that listens.
type ear struct {
	channel string
	conn    *conn
	heard   func(payload string)
}

var _ postgres.Clock = (*host)(nil)

// newHost is for one life of a process.
func newHost(p *process) *host {
	p.w.lives++
	return &host{p: p, name: string(rune('a'+p.index)) + time.Duration(p.w.lives).String()}
}

// Now implements postgres.Clock.
func (h *host) Now() time.Time { return h.p.wall() }

// NewID implements postgres.Clock.
func (h *host) NewID() uuid.UUID { return h.p.w.freshID() }

// Go implements postgres.Clock.
func (h *host) Go(f func()) { h.p.begins(f) }

// Within implements postgres.Clock.
func (h *host) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner := h.p.within(ctx, int64(d))
	return inner, inner.cancel
}

// Wait implements postgres.Clock.
func (h *host) Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int {
	return h.p.pause(ctx, int64(pause), from...)
}

// connect gives a connection of the process' own pool.
func (h *host) connect(ctx context.Context) (*conn, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.p.connection(ctx)
}

// trip makes a round trip on a connection. One whose context ends meanwhile closes it.
func (h *host) trip(ctx context.Context, at *conn, list ...db.Statement) error {
	err := h.p.exchange(ctx, at, list)
	if errors.Is(err, errEnded) {
		at.close()
		return fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return err
}

// names says for people which statements there are.
func names(list []db.Statement) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprint(s))
	}
	return strings.Join(out, ", ")
}

// notice is what a transaction tells those who listen.
type notice struct{ channel, payload string }

// deliver has a notice travel to those who listen.
func (w *world) deliver(n notice) {
	for _, p := range w.engines {
		if p.client == nil || !p.alive {
			continue
		}
		for _, e := range p.client.host.ears {
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
