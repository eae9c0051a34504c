package fault

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pause"
)

// wireEvery cuts connections at messages at which none was cut, finally at each message of each kind of transaction, once before
// it and once after.
var wireEvery = Kind{
	Name:      "wire.every",
	Doc:       "connections of all engines end at every message of every kind of transaction that comes, before it and after, and then again",
	Unvisited: func(p *Places) []string { return p.Unvisited(false, Before, After) },
	Draw:      func(r *rand.Rand, t Timing, f *Fault) { f.K, f.HoldMS = everyGap, between(r, 2*t.Lease, 3*t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		pace := newPacer(f.K)
		for i := range w.Engines() {
			wire := w.Wire(i)
			wire.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
				if s.place.Operation == Starting || !pace.due() {
					return pass
				}
				way := wire.ledger.Places.nextWay(s.place, Before, After)
				if way == "" {
					if pace.isIdle() {
						wire.ledger.Places.again(Before, After)
					}
					return pass
				}
				pace.went(over)
				return pgwire.Verdict{Deliver: way == After, End: pgwire.Close}
			})
			defer wire.set(nil)
		}
		err := pause.For(ctx, f.Hold())
		if err == nil { // reaches what happens once in an incarnation
			err = anew(ctx, w.Engine(f.Engine))
		}
		return pace.close(err)
	},
}

func anew(ctx context.Context, e Engine) error {
	if err := e.Stop(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return e.Start(ctx) // even if the stop failed, since its connections are cut
}

// everyGap is the minimum time between two cuts in ms, so that work continues in between.
const everyGap = 15

// pacer spaces faults and counts them.
type pacer struct {
	mu     sync.Mutex
	gap    time.Duration
	next   time.Time
	count  int
	closed bool
}

func newPacer(gapMS int) *pacer {
	return &pacer{gap: time.Duration(gapMS) * time.Millisecond, next: time.Now()}
}

func (p *pacer) due() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed && !time.Now().Before(p.next)
}

// isIdle reports, once for each idle period, that nothing has happened although it might have.
func (p *pacer) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.next) < idleGaps*p.gap {
		return false
	}
	p.next = time.Now()
	return true
}

// idleGaps is the length of an idle period, in gaps.
const idleGaps = 5

func (p *pacer) went(over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Now().Add(p.gap)
	if p.count++; !p.closed {
		over()
	}
}

// close ends it. It returns err, or ErrMissed if nothing happened.
func (p *pacer) close(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if err == nil && p.count == 0 {
		return ErrMissed
	}
	return err
}
