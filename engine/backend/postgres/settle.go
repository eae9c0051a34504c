package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/settle.sql
var settleSQL string

//go:embed sql/life.sql
var lifeSQL string

// settleTimeout bounds finding out what became of a commit, when the caller's context has ended.
const settleTimeout = 10 * time.Second

// Life names the server's life, for TookPlace: it is asked before a transaction begins. It is remembered until a crash is
// noticed, which may be later than it happens.
func (s *Store) Life(ctx context.Context) (string, error) {
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if life != "" {
		return life, nil
	}
	if err := s.storedOnce(ctx, "naming the server's life", &life, lifeSQL); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = life
	return life, nil
}

// TookPlace finds out whether a transaction took place whose COMMIT was lost (D7): it asks the server for the
// transaction's end by its id, which pg_current_xact_id()::text gave, and waits for it. After a crash nobody can tell, which
// is an error: an id of which nothing had come to disk stands for another transaction then, or for none yet.
func (s *Store) TookPlace(ctx context.Context, life, xid string) (bool, error) {
	ctx, cancel := s.Clock.Within(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	took := false
	err := s.Retry(ctx, "resolving a commit", "find out what it waits for, such as a standby", func() error {
		var status string
		err := s.Pool.QueryRow(ctx, settleSQL, xid, life).Scan(&status)
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

// Outlived forgets a life of the server, which was found to be over: Life asks for the name of the present one.
func (s *Store) Outlived(life string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == life {
		s.life = ""
	}
}
