package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

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
		return "the role lacks a right; grant it CREATE on the database, or let the schema's owner run what pulley schema grants prints"
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
	case "08P01":
		return poolerHint(e.Message)
	case "0A000":
		if strings.Contains(e.Message, "recovery") { // in English; in other languages the message says it alone
			return "the server is a standby; connect to the primary"
		}
	case "25006":
		return "the server is read-only; connect to the primary"
	}
	return ""
}

// poolerHint is for what a pooler says itself.
func poolerHint(message string) string {
	for part, hint := range map[string]string{
		"unsupported startup parameter": "a pooler is between, which takes no settings: leave the pool mode out, or make it session or transaction",
		"statement pooling mode":        "the designs need transactions: let the pooler pool transactions or sessions, or give the DSN of the server itself",
		"query_wait_timeout":            "the pooler has no server connection free: raise its pool size, or let engines have fewer (push:connections=N)",
		"no more connections allowed":   "the pooler has no client connection left: raise its max_client_conn, or let engines have fewer (push:connections=N)",
	} {
		if strings.Contains(message, part) {
			return hint
		}
	}
	return ""
}

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
