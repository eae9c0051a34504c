package fault

import (
	"context"
	"math/rand/v2"

	"github.com/jackc/pgx/v5"
)

// postgresSerializable provokes serialization failures.
var postgresSerializable = Kind{
	Name:   "postgres.serializable",
	Doc:    "for a while, transactions are serializable unless they say otherwise, so that those at once fail with serialization failures",
	States: []string{serializationFailure},
	Draw:   func(r *rand.Rand, t Timing, f *Fault) { f.HoldMS = between(r, t.Lease/2, t.Lease) },
	Inject: func(ctx context.Context, w World, f Fault, over func()) error {
		before := w.Failed()[serializationFailure]
		return withDefault(ctx, w, "default_transaction_isolation", "serializable", over, func(*pgx.Conn) error {
			return until(ctx, w, f, serializationFailure, before)
		})
	},
}

// serializationFailure is the server's code for it.
const serializationFailure = "40001"
