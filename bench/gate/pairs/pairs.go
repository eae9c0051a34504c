package pairs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Side is one of the two sides.
type Side int

// The sides.
const (
	Baseline Side = iota
	Candidate
)

// Order draws the side that begins each of n pairs. The same seed gives the same order.
func Order(n int, seed uint64) []Side {
	r := rand.New(rand.NewPCG(seed, 0x67617465))
	out := make([]Side, n)
	for i := range out {
		out[i] = Side(r.IntN(2))
	}
	return out
}

// Until is the time after which no pair begins. It depends on the clock alone, never on results, and so does not bias them. The
// zero value sets no limit.
type Until time.Time

// UntilAfter returns the limit that is length from now; zero is none.
func UntilAfter(length time.Duration) Until {
	if length == 0 {
		return Until{}
	}
	return Until(time.Now().Add(length))
}

// lets reports whether another pair would end in time, given that done pairs took so long.
func (u Until) lets(now time.Time, done int, took time.Duration) bool {
	if time.Time(u).IsZero() || done == 0 {
		return true
	}
	return !now.Add(took / time.Duration(done)).After(time.Time(u))
}

// Run lets both sides take a turn in each of n pairs, sequentially, but begins no pair that would not end before until. It
// stops at the first error of a turn, or with ctx.
func Run(ctx context.Context, n int, seed uint64, until Until, turn func(ctx context.Context, side Side, pair int) error) error {
	began := time.Now()
	for pair, first := range Order(n, seed) {
		if now := time.Now(); !until.lets(now, pair, now.Sub(began)) {
			return nil
		}
		for _, side := range []Side{first, 1 - first} {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := turn(ctx, side, pair); err != nil {
				return fmt.Errorf("pair %d of %d: %w", pair+1, n, err)
			}
		}
	}
	return nil
}
