package pgstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/resolve.sql
var resolveSQL string

//go:embed sql/incarnation.sql
var incarnationSQL string

// resolveTimeout bounds resolving a commit after the caller's context has ended.
const resolveTimeout = 10 * time.Second

// Incarnation returns the server's incarnation, for WasCommitted, before a transaction begins. It is cached until a crash is
// noticed.
func (s *Store) Incarnation(ctx context.Context) (string, error) {
	s.mu.Lock()
	life := s.incarnation
	s.mu.Unlock()
	if life != "" {
		return life, nil
	}
	if err := s.storedOnce(ctx, "naming the server's life", &life, incarnationSQL); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incarnation = life
	return life, nil
}

// WasCommitted resolves a transaction whose COMMIT was lost (D7): it asks for the status of its id (pg_current_xact_id()::text),
// and waits for its end. After a crash it returns an error: an id that had not reached the disk may be reused.
func (s *Store) WasCommitted(ctx context.Context, life, xid string) (bool, error) {
	ctx, cancel := s.Clock.Within(context.WithoutCancel(ctx), resolveTimeout)
	defer cancel()
	took := false
	err := s.Retry(ctx, "resolving a commit", "find out what it waits for, such as a standby", func() error {
		var status string
		err := s.Pool.QueryRow(ctx, resolveSQL, xid, life).Scan(&status)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			s.Outlived(life)
			return fmt.Errorf("the server has crashed, and does not know what became of transaction %s", xid)
		case err != nil:
			return err
		case status == "in progress":
			return Retryable(fmt.Errorf("transaction %s has not ended yet", xid))
		}
		took = status == "committed"
		return nil
	})
	return took, err
}

// Outlived forgets an incarnation that has ended; Incarnation then reads the current one.
func (s *Store) Outlived(life string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.incarnation == life {
		s.incarnation = ""
	}
}
