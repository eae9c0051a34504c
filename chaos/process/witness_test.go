package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/oracle"
)

// TestAnswerOfACallOfUnknownOutcome tells what may have been applied from what was not.
func TestAnswerOfACallOfUnknownOutcome(t *testing.T) {
	unknown := fmt.Errorf("lost: %w", backend.ErrUnknown)
	for i, c := range []struct {
		outcomes []backend.Outcome
		err      error
		want     oracle.Answer
	}{
		{nil, unknown, oracle.AnswerUnknown},
		{nil, context.Canceled, oracle.AnswerNone},
		{[]backend.Outcome{{Answer: backend.Again, Err: unknown}}, nil, oracle.AnswerUnknown},
		{[]backend.Outcome{{Answer: backend.Again, Err: context.Canceled}}, nil, oracle.AnswerNone},
		{[]backend.Outcome{{Answer: backend.Stale}}, nil, oracle.AnswerStale},
	} {
		if got := answerOf(c.outcomes, 0, c.err); got != c.want {
			t.Errorf("answer %d is %s, want %s", i, got, c.want)
		}
	}
}

// TestGivingBackIsARelease has leases returned as the engine does it: nobody may believe in them from then on.
func TestGivingBackIsARelease(t *testing.T) {
	for lease, want := range map[time.Duration][]string{0: {"released"}, time.Millisecond: {"released"}, time.Second: {"extending", "extended"}} {
		var out bytes.Buffer
		w := newWitness(noStore{}, time.Second, &lines{out: &out}, "engine")
		g := &graph.Graph{Nodes: []*graph.Node{{Name: "node"}}}
		l := backend.Lease{Key: backend.Key{Instance: uuid.New()}, Token: 1}
		w.graphs.Store(l.Key.Instance, g)
		if _, err := w.Renew(t.Context(), 0, []backend.Lease{l}, backend.Grant{Lease: lease}); err != nil {
			t.Fatal(err)
		}
		h, _, err := oracle.ReadHistory(&out)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range h {
			if e.Kind != oracle.Began {
				got = append(got, string(e.Kind))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with a lease of %v the history has %v, want %v", lease, got, want)
		}
	}
}

// noStore renews every lease.
type noStore struct{ Store }

func (noStore) Renew(_ context.Context, _ int, leases []backend.Lease, _ backend.Grant) ([]bool, error) {
	return slices.Repeat([]bool{true}, len(leases)), nil
}

// TestDeadlocksAreTold tells of statements that a deadlock ended, and of no other error.
func TestDeadlocksAreReported(t *testing.T) {
	seen := 0
	e := &edges{deadlocked: func() { seen++ }}
	e.failed(fmt.Errorf("commit: %w", &pgconn.PgError{Code: "40P01"}))
	e.TraceQueryEnd(t.Context(), nil, pgx.TraceQueryEndData{Err: &pgconn.PgError{Code: "40P01"}})
	e.failed(&pgconn.PgError{Code: "40001"})
	e.failed(errors.New("40P01"))
	if seen != 2 {
		t.Errorf("%d deadlocks were seen, want 2", seen)
	}
}
