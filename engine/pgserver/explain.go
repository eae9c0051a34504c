package pgserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// The classes of explained server errors (Appendix A of the manual).
const (
	codeInvalidAuthorization  = "28000"
	codeInvalidPassword       = "28P01"
	codeNoDatabase            = "3D000"
	codeInsufficientPrivilege = "42501"
	codeTooManyConnections    = "53300"
	codeCannotConnectNow      = "57P03"
)

func isStartingUp(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == codeCannotConnectNow
}

// target names a server for a message, without the DSN, which may hold a password.
func target(cfg *pgx.ConnConfig) string {
	if strings.HasPrefix(cfg.Host, "/") || strings.HasPrefix(cfg.Host, "@") {
		return fmt.Sprintf("%s@%s(%d)/%s", cfg.User, cfg.Host, cfg.Port, cfg.Database)
	}
	return fmt.Sprintf("%s@%s/%s", cfg.User, net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)), cfg.Database)
}

func connectError(cfg *pgx.ConnConfig, err error) error {
	where := target(cfg)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return refusal(cfg, where, pgErr)
	}
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return fmt.Errorf("the host %q of the DSN is unknown: check its name", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens at %s: start Postgres there, or correct host and port in the DSN", where)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no socket at %s: start Postgres there, or correct host and port in the DSN", where)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("this user may not open the socket at %s: run as a user who may, or connect over TCP", where)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the server %s does not answer in time: check host, port and the firewall between", where)
	}
	return fmt.Errorf("cannot connect to %s: %s", where, oneLine(reason(err)))
}

func refusal(cfg *pgx.ConnConfig, where string, pgErr *pgconn.PgError) error {
	said := oneLine(pgErr.Message)
	switch pgErr.Code {
	case codeInvalidPassword, codeInvalidAuthorization:
		return fmt.Errorf("the server %s turns user %q away: %s; check user and password in the DSN, and pg_hba.conf", where, cfg.User, said)
	case codeNoDatabase:
		return fmt.Errorf("there is no database %q at %s: create it (createdb), or correct its name in the DSN", cfg.Database, where)
	case codeInsufficientPrivilege:
		return fmt.Errorf("user %q may not connect to %s: %s; grant CONNECT, or use another user", cfg.User, where, said)
	case codeTooManyConnections:
		return fmt.Errorf("the server %s has no connection left: %s; end some, or raise max_connections", where, said)
	case codeCannotConnectNow:
		return fmt.Errorf("the server %s is not ready and did not become so in time: %s; try again later", where, said)
	}
	return fmt.Errorf("the server %s refuses the connection: %s (%s)", where, said, pgErr.Code)
}

// dsnSyntaxError explains an invalid DSN. The parser's reason may quote the DSN, so quotes and possible passwords are removed.
func dsnSyntaxError(dsn string, err error) error {
	why := "it is neither a URL nor key=value pairs"
	var parse *pgconn.ParseConfigError
	if errors.As(err, &parse) {
		if inner := parse.Unwrap(); inner != nil {
			why = innermost(inner)
		}
	}
	why = quoted.ReplaceAllString(scrub(oneLine(why), dsn), `"…"`)
	return fmt.Errorf("the DSN cannot be read: %s; write postgres://user:password@host:5432/database, or host=... user=... dbname=...", why)
}

// innermost is the text of the innermost error: outer ones quote their input.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

const scrubbed = "xxxxx"

var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|` + "`[^`]*`")

var keywordPassword = regexp.MustCompile(`(?i)(?:ssl)?password\s*=\s*('(?:[^'\\]|\\.)*'?|[^\s&]+)`)

// scrub removes possible passwords of the DSN from text. The DSN may be malformed.
func scrub(text, dsn string) string {
	for _, secret := range secrets(dsn) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, scrubbed)
		}
	}
	return text
}

func secrets(dsn string) []string {
	var found []string
	add := func(s string) {
		s = strings.TrimSpace(s)
		if s == "" {
			return
		}
		found = append(found, s, strings.Trim(s, "'"))
		if plain, err := url.PathUnescape(s); err == nil {
			found = append(found, plain)
		}
	}
	if _, rest, ok := strings.Cut(dsn, "://"); ok {
		// The password ends at the last @, even if it contains one unescaped.
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			if _, password, ok := strings.Cut(rest[:at], ":"); ok {
				add(password)
			}
		}
		// In a malformed URL the password may look like a port: what follows the first colon.
		if _, after, ok := strings.Cut(rest, ":"); ok {
			before, _, _ := strings.Cut(after, "@")
			add(before)
		}
	}
	for _, match := range keywordPassword.FindAllStringSubmatch(dsn, -1) {
		add(match[1])
	}
	if env := os.Getenv("PGPASSWORD"); env != "" {
		add(env)
	}
	return found
}

// reason is the text of err without pgconn's preamble, which repeats user, host and database.
func reason(err error) string {
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		if inner := connectErr.Unwrap(); inner != nil {
			return inner.Error()
		}
	}
	return err.Error()
}

func oneLine(text string) string {
	const enough = 400
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > enough {
		text = strings.ToValidUTF8(text[:enough], "") + "…"
	}
	return text
}
