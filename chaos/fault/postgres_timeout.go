package fault

import (
	"context"
	"math/rand/v2"
)

// postgresTimeout has statements run out of the time that the server gives them.
var postgresTimeout = Kind{
	Name:   "postgres.timeout",
	Doc:    "every table of the store is locked for a while, and statements that take 50 ms fail with a statement timeout",
	States: []string{queryCanceled},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/4, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		return locked(ctx, w, f, "statement_timeout", queryCanceled, over)
	},
}
