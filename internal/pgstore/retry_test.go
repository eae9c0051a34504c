package pgstore

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
)

func TestRetryIsBounded(t *testing.T) {
	over, busy := errors.New("the data is wrong"), errors.New("somebody has it")
	for name, c := range map[string]struct {
		err   error
		works int // the try that succeeds; 0: none
		ends  int // the try in which the context ends; 0: none
		tries int
		want  string
	}{
		"no other try gets over it": {err: over, tries: 1, want: "the data is wrong"},
		"the third works":           {err: Retryable(busy), works: 3, tries: 3},
		"none works":                {err: Retryable(busy), tries: triesMax, want: "counting sheep: given up after 50 tries: somebody has it; open the gate"},
		"the caller goes":           {err: Retryable(busy), ends: 4, tries: 4, want: "counting sheep: stopped after 4 tries: somebody has it\ncontext canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := On(Host{Clock: &hasty{}})
			tries := 0
			err := s.Retry(ctx, "counting sheep", "open the gate", func() error {
				if tries++; tries == c.ends {
					cancel()
				}
				if tries == c.works {
					return nil
				}
				return c.err
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if tries != c.tries || got != c.want {
				t.Errorf("%d tries, %q; want %d, %q", tries, got, c.tries, c.want)
			}
			if again := errors.As(err, new(*retryable)); again {
				t.Error("what ends the tries of one call has another call try")
			}
		})
	}
}

func TestCancelIsBounded(t *testing.T) {
	s, id, tries := On(Host{Clock: &hasty{}}), uuid.New(), 0
	_, err := s.untilEnded(t.Context(), func() ([]backend.Instance, error) {
		tries++
		return []backend.Instance{{ID: uuid.New(), Status: backend.Canceled}, {ID: id, Status: backend.Running}}, nil
	})
	if tries != triesMax || !backend.IsUnknown(err) || !strings.Contains(err.Error(), id.String()) || !strings.Contains(err.Error(), "cancel again") {
		t.Errorf("%d tries, %v; want %d, and an error that names %s", tries, err, triesMax, id)
	}
}

type scripted struct {
	Pool
	answers []string
	asked   int
}

func (s *scripted) QueryRow(context.Context, string, ...any) pgx.Row {
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	return status(answer)
}

type status string

func (s status) Scan(to ...any) error {
	*to[0].(*string) = string(s)
	return nil
}

func TestATransactionUnderWayIsWaitedFor(t *testing.T) {
	for end, want := range map[string]bool{"committed": true, "aborted": false} {
		pool := &scripted{answers: []string{"in progress", "in progress", end}}
		took, err := On(Host{Clock: &hasty{}, Pool: pool}).WasCommitted(t.Context(), "life", "7")
		if err != nil || took != want || pool.asked != 3 {
			t.Errorf("%s: it was committed: %t, %v, after %d looks; want %t after 3", end, took, err, pool.asked, want)
		}
	}
	pool := &scripted{answers: []string{"in progress"}}
	if _, err := On(Host{Clock: &hasty{}, Pool: pool}).WasCommitted(t.Context(), "life", "7"); err == nil || !strings.Contains(err.Error(), "transaction 7 has not ended yet") {
		t.Errorf("of one that does not end: %v", err)
	}
}

// TestLostCommitsAreBounded checks that Commit fails after several lost COMMITs that were not applied, and that one that was
// applied is not repeated and returns its leases.
func TestLostCommitsAreBounded(t *testing.T) {
	for end, want := range map[string]struct {
		runs, released int
		err            string
	}{"aborted": {CommitsMax, 0, "counting: the connection was lost at each of 5 commits, and none was applied"}, "committed": {1, 1, ""}} {
		runs, released := 0, 0
		s := On(Host{Clock: &hasty{}, Pool: &scripted{answers: []string{end}}})
		err := s.Commit(t.Context(), Transaction{
			Purpose: "counting", ID: func() (string, string) { return "life", "7" }, Release: func() { released++ },
			Run: func() error { runs++; return backend.ErrUnknown },
		})
		if runs != want.runs || released != want.released || (err == nil) != (want.err == "") || err != nil && !strings.HasPrefix(err.Error(), want.err) || backend.IsUnknown(err) {
			t.Errorf("%s: %d runs, leases given back %d times, %v; want %+v", end, runs, released, err, want)
		}
	}
}
