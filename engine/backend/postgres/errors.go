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

// Unconfirmed says whether an error at COMMIT, or at a statement that commits by itself, leaves open
// whether it was applied: everything but the server's own word. pgx calls some of these errors safe to
// retry although the server has committed, so it is not asked.
func Unconfirmed(err error) bool {
	if err == nil || errors.Is(err, pgx.ErrTxCommitRollback) {
		return false
	}
	server, ok := errors.AsType[*pgconn.PgError](err)
	return !ok || parting(server)
}

// WrapUnknown marks the error of something that commits as backend.ErrUnknown, where it leaves open whether that was applied.
func WrapUnknown(err error) error {
	if Unconfirmed(err) {
		return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
	}
	return err
}

// Abandoned says whether the server may still be at a transaction which failed with this error before its COMMIT was sent:
// its connection was lost or given up, without the server's word. A statement that waits for a lock there goes on when it has
// it, and takes others, until the server notices.
func Abandoned(err error) bool {
	_, unfit := errors.AsType[*UnfitError](err)
	return !unfit && Unconfirmed(err)
}

// parting says whether an error was the last of its session: a shutdown or a crash, which can come after
// the commit record was written, or what a pooler says for a server that it lost.
func parting(e *pgconn.PgError) bool {
	return e.Severity == "FATAL" || e.Severity == "PANIC" || e.SeverityUnlocalized == "FATAL" || e.SeverityUnlocalized == "PANIC" ||
		strings.HasPrefix(e.Code, "57P") || strings.HasPrefix(e.Code, "08") || e.Code == "40003"
}

// Poisoned says whether an error is the fault of the data of a call: the same call will fail again,
// and a batch without it will not.
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

// Overflowed says whether a readiness counter was about to pass its required count.
func Overflowed(err error) bool {
	server, ok := errors.AsType[*pgconn.PgError](err)
	return ok && server.ConstraintName == "readiness_overflow"
}

// Contended says whether the server gave the call up in favour of another: it may be made again.
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

// secrets finds passwords in connection strings and URLs.
var secrets = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)|(://[^:/@\s]*:)\S*@`)

// Explain gives an error of the database as one line that says what to do. It keeps the error's chain,
// and never a password.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*explained](err); ok {
		return &explained{err: err} // which has said what to do
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

// serverHint says what to do about the commonest of the server's refusals.
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

// explained words an error of the database in one line.
type explained struct {
	err  error
	hint string
}

func (e *explained) Unwrap() error { return e.err }

func (e *explained) Error() string {
	var lines []string // errors that were joined stand on lines of their own, and can be the same
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

// Problem tells Config.Problem what went wrong beside the calls of a backend, or behind their answers: nobody else is told.
// doing says at what. That ctx was canceled is no problem; that its time ran out is one, since then something was not done in time.
func (s *Store) Problem(ctx context.Context, doing string, err error) {
	if err != nil && s.problem != nil && !errors.Is(ctx.Err(), context.Canceled) {
		s.problem(fmt.Errorf("%s: %w", doing, Explain(err)))
	}
}
