package pairs

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// Side is one of the two that take turns.
type Side int

// The sides.
const (
	Baseline Side = iota
	Candidate
)

// Order draws who begins each of n pairs. The same seed gives the same order.
func Order(n int, seed uint64) []Side {
	r := rand.New(rand.NewPCG(seed, 0x67617465))
	out := make([]Side, n)
	for i := range out {
		out[i] = Side(r.IntN(2))
	}
	return out
}

// Run has both sides take a turn in each of n pairs, one after the other. It ends with the first error of a turn, or with ctx.
func Run(ctx context.Context, n int, seed uint64, turn func(ctx context.Context, side Side, pair int) error) error {
	for pair, first := range Order(n, seed) {
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
