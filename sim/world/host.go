package world

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/internal/pgstore"
	"pulley/sim/db"
)

// Host gives a design's real code the world's server, network and time. The calling thread waits in its methods and nowhere else.
type Host struct {
	Process     *Process
	Name        string // in notifications
	ListenConns []*ListenConn
}

// ListenConn is a listening connection.
type ListenConn struct {
	Channel  string
	Conn     *Conn
	OnNotify func(payload string)
}

var _ pgstore.Clock = (*Host)(nil)

func newHost(p *Process) *Host {
	p.World.incarnations++
	return &Host{Process: p, Name: string(rune('a'+p.Index)) + time.Duration(p.World.incarnations).String()}
}

// Now implements pgstore.Clock.
func (h *Host) Now() time.Time { return h.Process.wall() }

// NewID implements pgstore.Clock.
func (h *Host) NewID() uuid.UUID { return h.Process.World.FreshID() }

// Go implements pgstore.Clock.
func (h *Host) Go(f func()) { h.Process.begins(f) }

// Within implements pgstore.Clock.
func (h *Host) Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner := h.Process.within(ctx, int64(d))
	return inner, inner.cancel
}

// Wait implements pgstore.Clock.
func (h *Host) Wait(ctx context.Context, pause time.Duration, from ...<-chan struct{}) int {
	return h.Process.pause(ctx, int64(pause), from...)
}

// Connect takes a connection from the process's pool or opens one.
func (h *Host) Connect(ctx context.Context) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return h.Process.connection(ctx)
}

// Trip makes a round trip on a connection. If the context ends first, it closes the connection.
func (h *Host) Trip(ctx context.Context, at *Conn, list ...db.Statement) error {
	err := h.Process.exchange(ctx, at, list)
	if errors.Is(err, ErrEnded) {
		at.Close()
		return fmt.Errorf("%w: %w", err, ctx.Err())
	}
	return err
}

// Names lists statements for people.
func Names(list []db.Statement) string {
	var out []string
	for _, s := range list {
		out = append(out, fmt.Sprint(s))
	}
	return strings.Join(out, ", ")
}

// Notice is a notification that a commit sends.
type Notice struct{ Channel, Payload string }

// Deliver sends a notice to the listening connections.
func (w *World) Deliver(n Notice) {
	for _, p := range w.engines {
		if p.client == nil || !p.alive {
			continue
		}
		for _, e := range p.client.host.ListenConns {
			if e.Channel != n.Channel || e.Conn.Broken {
				continue
			}
			w.after(p.latency(), p, func() {
				switch {
				case e.Conn.Broken || e.Conn.KnowsBroken:
				case w.Now < p.missesUntil:
					w.Note(Unheard, p.Index, 0, 0, 0)
				default:
					w.Note(Notified, p.Index, int64(len(n.Channel)), 0, 0)
					e.OnNotify(n.Payload)
					p.hasRunnable = true
				}
			})
		}
	}
}
