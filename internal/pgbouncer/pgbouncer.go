// Package pgbouncer starts PgBouncer, for tests. It needs the program pgbouncer.
package pgbouncer

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/internal/pause"
	"pulley/internal/watchdog"
)

// Variable names another program than the pgbouncer in PATH.
const Variable = "PULLEY_TEST_PGBOUNCER"

const (
	port        = 6432 // part of the socket's name; each bouncer has a directory of its own
	client      = "pooled"
	startWithin = 30 * time.Second
	stopWithin  = 10 * time.Second
)

// Config describes a bouncer. Clients authenticate by SCRAM.
type Config struct {
	Server string // the DSN of the server behind it; a URL if it asks for TLS
	Mode   string // session, transaction or statement
	Size   int    // server connections for each database

	// Prepared is how many statements it keeps track of for each server connection. Other than zero needs TracksStatements.
	Prepared int

	// Settings are further ones, by name.
	Settings map[string]string
}

// Bouncer is a running PgBouncer. It ends with this process, if not before. Its methods are for one goroutine at a time.
type Bouncer struct {
	dir      string
	program  string
	password string
	server   *pgx.ConnConfig
	guard    *watchdog.Watchdog

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// Program returns the path of the program.
func Program() (string, error) {
	if named := os.Getenv(Variable); named != "" {
		return named, nil
	}
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		path = "/usr/sbin/pgbouncer" // which PATH often lacks
		if _, err = os.Stat(path); err != nil {
			return "", fmt.Errorf("there is no pgbouncer: install the package pgbouncer, or name the program in %s", Variable)
		}
	}
	return path, nil
}

var versionText = regexp.MustCompile(`PgBouncer (\d+)\.(\d+)`)

// TracksStatements reports whether the program is of version 1.21 or later, which can keep track of prepared statements.
func TracksStatements(ctx context.Context) (bool, error) {
	program, err := Program()
	if err != nil {
		return false, err
	}
	text, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return false, fmt.Errorf("%s --version: %w", program, err)
	}
	found := versionText.FindStringSubmatch(string(text))
	if found == nil {
		return false, fmt.Errorf("%s --version names none: %.200q", program, text)
	}
	major, _ := strconv.Atoi(found[1]) // digits only
	minor, _ := strconv.Atoi(found[2])
	return major > 1 || minor >= 21, nil
}

// Start starts a bouncer. The caller closes it.
func Start(ctx context.Context, cfg Config) (*Bouncer, error) {
	program, err := Program()
	if err != nil {
		return nil, err
	}
	tracks, err := TracksStatements(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Prepared != 0 && !tracks {
		return nil, fmt.Errorf("%s is older than PgBouncer 1.21, and keeps track of no statements", program)
	}
	server, err := pgx.ParseConfig(cfg.Server)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pulley-bouncer-")
	if err != nil {
		return nil, err
	}
	b := &Bouncer{dir: dir, program: program, password: uuid.NewString(), server: server}
	if err := errors.Join(os.Chmod(dir, 0o777), b.write(cfg, tracks)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	const end = `cat >/dev/null; pid=$(cat "$BOUNCER_DIR/pid" 2>/dev/null) && kill -9 "$pid" 2>/dev/null; rm -rf "$BOUNCER_DIR"`
	if b.guard, err = watchdog.Start(end, "BOUNCER_DIR="+dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.Start(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bouncer) write(cfg Config, tracks bool) error {
	where := fmt.Sprintf("* = host=%s port=%d user=%s", b.server.Host, b.server.Port, b.server.User)
	if b.server.Password != "" {
		where += " password='" + strings.ReplaceAll(b.server.Password, "'", "''") + "'"
	}
	lines := []string{
		"[databases]", where,
		"[pgbouncer]",
		"listen_addr =", "listen_port = " + strconv.Itoa(port), "unix_socket_dir = " + b.dir, "pidfile = " + filepath.Join(b.dir, "pid"),
		"auth_type = scram-sha-256", "auth_file = " + filepath.Join(b.dir, "users"),
		"pool_mode = " + cfg.Mode, "default_pool_size = " + strconv.Itoa(cfg.Size), "max_client_conn = 1000",
		"server_round_robin = 1", // each transaction on another connection, rather than on the one that was last used
		"server_login_retry = 0", "log_connections = 0", "log_disconnections = 0",
	}
	if tracks {
		lines = append(lines, "max_prepared_statements = "+strconv.Itoa(cfg.Prepared))
	}
	if b.server.TLSConfig != nil {
		u, err := url.Parse(cfg.Server)
		if err != nil {
			return err
		}
		lines = append(lines, "server_tls_sslmode = "+u.Query().Get("sslmode"))
		if roots := u.Query().Get("sslrootcert"); roots != "" {
			lines = append(lines, "server_tls_ca_file = "+roots)
		}
	}
	for name, value := range cfg.Settings {
		lines = append(lines, name+" = "+value)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(b.dir, "ini"), []byte(strings.Join(lines, "\n")+"\n"), 0o644),
		os.WriteFile(filepath.Join(b.dir, "users"), []byte(fmt.Sprintf("%q %q\n", client, b.password)), 0o644),
	)
}

// DSN returns a connection string through the bouncer, for a database of the server.
func (b *Bouncer) DSN(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(client, b.password), Path: "/" + database}
	u.RawQuery = url.Values{"host": {b.dir}, "port": {strconv.Itoa(port)}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// Start starts the program again after Kill, and waits until it answers.
func (b *Bouncer) Start(ctx context.Context) error {
	log, err := os.OpenFile(b.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	var arguments []string
	if os.Geteuid() == 0 {
		account, err := account()
		if err != nil {
			return err
		}
		arguments = append(arguments, "-u", account)
	}
	cmd := exec.Command(b.program, append(arguments, filepath.Join(b.dir, "ini"))...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	go func() { // ends with the program
		defer close(done)
		_ = cmd.Wait() // the log explains how it ended
	}()
	b.mu.Lock()
	b.cmd, b.done = cmd, done
	b.mu.Unlock()
	return b.await(ctx, done)
}

func (b *Bouncer) await(ctx context.Context, done <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	var last error
	for range pause.Tries(ctx, 10*time.Millisecond) {
		select {
		case <-done:
			return fmt.Errorf("pgbouncer has ended: %s", b.log())
		default:
		}
		var conn *pgx.Conn
		if conn, last = pgx.Connect(ctx, b.DSN(b.server.Database)); last == nil {
			return conn.Close(ctx)
		}
	}
	return fmt.Errorf("pgbouncer does not answer: %w: %s", last, b.log())
}

func (b *Bouncer) logFile() string { return filepath.Join(b.dir, "log") }

func (b *Bouncer) log() string {
	text, err := os.ReadFile(b.logFile())
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// account is one that the program can run as: it refuses root.
func account() (string, error) {
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		if _, err := user.Lookup(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("pgbouncer does not run as root, and there is no account postgres or nobody")
}

// Kill ends the program, and all connections through it, at once.
func (b *Bouncer) Kill() error {
	b.mu.Lock()
	cmd, done := b.cmd, b.done
	b.mu.Unlock()
	if cmd == nil {
		return nil
	}
	if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-done:
	case <-time.After(stopWithin):
		return errors.New("pgbouncer does not end when it is killed")
	}
	// A killed program leaves its socket, which keeps the next one from starting.
	return errors.Join(os.RemoveAll(filepath.Join(b.dir, "pid")), os.RemoveAll(filepath.Join(b.dir, ".s.PGSQL."+strconv.Itoa(port))))
}

// Close ends the program, and removes its files.
func (b *Bouncer) Close() error {
	killed := b.Kill()
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return errors.Join(killed, b.guard.Release(ctx, ""))
}
