package eager

import (
	"testing"

	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/engine/pgserver/pgtest"
)

// keeping is a clock that keeps what is to go on in the background.
type keeping struct {
	postgres.Clock
	*backendtest.Background
}

func (k keeping) Go(job func()) { k.Keep(job) }

// TestEndIsAnsweredBeforeTheCleanup: see backendtest.Cleaning.
func TestEndIsAnsweredBeforeTheCleanup(t *testing.T) {
	var n pgtest.Statements
	b := open(t, postgres.Config{DSN: pgtest.DSN(t), Schema: pgtest.Schema(t), Shards: 1, Tracer: &n})
	background := &backendtest.Background{}
	b.store.Clock = keeping{b.store.Clock, background}
	c := backendtest.Cleaning{Backend: b, Background: background, Statements: n.Sent.Load, Left: func() int {
		rows, err := b.Leftovers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return rows["node_ready_state"]
	}, Marked: func() (marked int) {
		if err := b.store.Pool.QueryRow(t.Context(), "SELECT count(*) FROM instances WHERE untidy").Scan(&marked); err != nil {
			t.Fatal(err)
		}
		return marked
	}}
	c.TestEnds(t)
}
