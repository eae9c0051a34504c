package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
)

// Unconfirmed reports whether an error of a COMMIT, or of a statement that commits by itself, leaves its outcome open: every
// error that the server did not report, or with which it ended the session. pgx calls some of them safe to retry, wrongly.
func Unconfirmed(err error) bool {
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) {
		return false
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || parting(server)
}

// WrapUnknown marks an unconfirmed error as backend.ErrUnknown.
func WrapUnknown(err error) error {
	if Unconfirmed(err) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// Abandoned reports whether the server may still be executing a transaction that failed before COMMIT, because its connection was
// lost or closed. A statement that waits for a lock continues, and locks more, until the server notices.
func Abandoned(err error) bool {
	_, unfit := errors.AsType[*UnfitError](err)
	return !unfit && Unconfirmed(err)
}

// parting reports whether an error ended its session: a shutdown or crash, maybe after the commit record was written, or a pooler
// that lost its server.
func parting(e *pgconn.PgError) bool {
	return e.Severity == "FATAL" || e.Severity == "PANIC" || e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" ||
		strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08") || e.Code == "40003"
}

// Poisoned reports whether an error is the fault of a call's data: it would recur, and a batch without that data would succeed.
func Poisoned(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	for _, class := range []string{"22", "23", "54"} { // data exception, integrity violation, program limit
		if strings.HasPrefix(server.Code, class) {
			return true
		}
	}
	return false
}

// Overflowed reports whether a readiness counter would have passed its required count.
func Overflowed(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.ConstraintName == "readiness_overflow"
}

// Contended reports whether the server rolled back in favour of another transaction. A retry may succeed.
func Contended(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch server.Code {
	case "40001", "40P01", "55P03":
		return true
	}
	return false
}

// Problem reports an error that no call returns. doing says what failed. A cancelled ctx is no problem; one that timed out is.
func (s *Store) Problem(ctx context.Context, doing string, err error) {
	if err != nil && s.problem != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.problem(fmt.Errorf("%s: %w", doing, postgres.Explain(err)))
	}
}

// unloggedDuringRecovery is a standby's answer where a table is unlogged, as that of the incarnation is. The code has other
// meanings, which no statement of a store has.
const unloggedDuringRecovery = "0A000"

// MayOnlyRead reports whether a statement failed since the role, or the server, only allows to read. Those who only look at
// instances need no more; any other call fails by itself.
func MayOnlyRead(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (server.Code == "42501" || server.Code == "25006" || server.Code == unloggedDuringRecovery)
}
