package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
)

// TestRetryIsBounded has tries fail: one that no other can get over is the last, and others are bounded in number and by their context.
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
		"none works":                {err: Retryable(busy), tries: triesMost, want: "counting sheep: given up after 50 tries: somebody has it; open the gate"},
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

// TestCancelIsBounded has an instance run after each try to cancel it, as if clients kept submitting: the caller is told, and that a part may have taken place.
func TestCancelIsBounded(t *testing.T) {
	s, id, tries := On(Host{Clock: &hasty{}}), uuid.New(), 0
	_, err := s.UntilEnded(t.Context(), func() ([]backend.Instance, error) {
		tries++
		return []backend.Instance{{ID: uuid.New(), Status: backend.Canceled}, {ID: id, Status: backend.Running}}, nil
	})
	if tries != triesMost || !backend.IsUnknown(err) || !strings.Contains(err.Error(), id.String()) || !strings.Contains(err.Error(), "cancel again") {
		t.Errorf("%d tries, %v; want %d, and an error that names %s", tries, err, triesMost, id)
	}
}
