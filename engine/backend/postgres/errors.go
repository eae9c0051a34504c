package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"pulley/engine/backend"
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

var secrets = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)|(://[^:/@\s]*:)\S*@`)

// Explain returns a database error as one line that says what to do, without passwords. It keeps the error's chain.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*explained](err); ok {
		return &explained{err: err} // which says what to do
	}
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return &explained{err, "check the DSN; it looks like postgres://user:password@host:5432/database"}
	}
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		return &explained{err, serverHint(server)}
	}
	if network, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) || ok && network.Timeout() {
		return &explained{err, "the server did not answer in time; check that it runs and can be reached"}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return &explained{err, "check that the server runs and that host and port are right"}
	}
	return &explained{err: err}
}

func serverHint(e *pgconn.PgError) string {
	switch e.Code {
	case "42501":
		return "the role lacks a right; grant it CREATE on the database or make the schema for it"
	case "28P01", "28000":
		return "check user and password of the DSN"
	case "3D000":
		return "create the database, or name another in the DSN"
	case "53100", "58030":
		return "the server's disk is full; free space and run again"
	case "53300":
		return "the server has no connection left; close some or raise max_connections"
	case "57014":
		return "it took longer than a statement may; check the server's load, and what holds locks"
	case "25006":
		return "the server is read-only; connect to the primary"
	}
	return ""
}

// explained is a database error in one line.
type explained struct {
	err  error
	hint string
}

func (e *explained) Unwrap() error { return e.err }

func (e *explained) Error() string {
	var lines []string // joined errors are separated by newlines, and may be equal
	for line := range strings.Lines(secrets.ReplaceAllString(e.err.Error(), "${1}${3}***")) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, " ")
	if !strings.HasPrefix(text, "postgres: ") {
		text = "postgres: " + text
	}
	if e.hint != "" {
		return fmt.Sprintf("%s; %s", text, e.hint)
	}
	return text
}

// Problem reports an error that no call returns. doing says what failed. A cancelled ctx is no problem; one that timed out is.
func (s *Store) Problem(ctx context.Context, doing string, err error) {
	if err != nil && s.problem != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.problem(fmt.Errorf("%s: %w", doing, Explain(err)))
	}
}
