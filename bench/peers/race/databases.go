package race

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// query returns an embedded statement by its constant name.
func query(name string) string {
	text, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// counters are the server's counts up to a moment.
type counters struct {
	commits, rollbacks, sessions, walBytes, checkpoints int64
}

// databases creates the databases of runs and reads their counters, on a connection to another one.
type databases struct {
	dsn    string
	conn   *pgx.Conn
	prefix string
	serial int
	after  int // Postgres' major version
}

func openDatabases(ctx context.Context, dsn string) (*databases, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	d := &databases{dsn: dsn, conn: conn, prefix: fmt.Sprintf("pulley_peers_%d", time.Now().UnixMilli())}
	if _, err := fmt.Sscanf(conn.PgConn().ParameterStatus("server_version"), "%d", &d.after); err != nil {
		d.after = 0
	}
	return d, nil
}

func (d *databases) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = d.conn.Close(ctx)
}

func (d *databases) create(ctx context.Context, count int) (names, dsns []string, err error) {
	for range count {
		d.serial++
		name := fmt.Sprintf("%s_%d", d.prefix, d.serial)
		dsn, err := within(d.dsn, name)
		if err != nil {
			return names, nil, err
		}
		if _, err := d.conn.Exec(ctx, named("create", name)); err != nil {
			return names, nil, fmt.Errorf("make the database %s; the role needs CREATEDB: %w", name, err)
		}
		names, dsns = append(names, name), append(dsns, dsn)
	}
	return names, dsns, nil
}

// drop removes databases, even with open sessions. It continues when ctx has ended.
func (d *databases) drop(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	for _, name := range names {
		if _, err := d.conn.Exec(ctx, named("drop", name)); err != nil {
			errs = append(errs, fmt.Errorf("the database %s is still there: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func named(statement, name string) string {
	return strings.ReplaceAll(query(statement), "{name}", pgx.Identifier{name}.Sanitize())
}

// within returns the connection string of another database of a server.
func within(dsn, database string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " dbname=" + database, nil // the last of duplicate settings counts
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the DSN cannot be read as a URL") // url.Parse's error would show a password
	}
	values := u.Query()
	values.Del("dbname")
	values.Del("database")
	u.Path, u.RawPath, u.RawQuery = "/"+database, "", values.Encode()
	return u.String(), nil
}

const (
	sessionsWait = 15 * time.Second
	sessionsPoll = 5 * time.Millisecond
)

// read returns the counters once no session is left in the databases, since a session flushes its counts when it ends.
func (d *databases) read(ctx context.Context, names []string) (counters, error) {
	var c counters
	deadline := time.Now().Add(sessionsWait)
	tick := time.NewTicker(sessionsPoll)
	defer tick.Stop()
	for {
		var left int64
		if err := d.conn.QueryRow(ctx, query("sessions"), names).Scan(&left); err != nil {
			return c, fmt.Errorf("look for the run's sessions: %w", err)
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			return c, fmt.Errorf("%d sessions are still there %v after the system was closed", left, sessionsWait)
		}
		select {
		case <-ctx.Done():
			return c, context.Cause(ctx)
		case <-tick.C:
		}
	}
	err := d.conn.QueryRow(ctx, query("counters"), names).Scan(&c.commits, &c.rollbacks, &c.sessions, &c.walBytes)
	if err != nil {
		return c, fmt.Errorf("read the server's counters: %w", err)
	}
	checkpoints := "checkpoints"
	if d.after >= 17 {
		checkpoints = "checkpoints_17"
	}
	if err := d.conn.QueryRow(ctx, query(checkpoints)).Scan(&c.checkpoints); err != nil {
		return c, fmt.Errorf("read the server's counters: %w", err)
	}
	return c, nil
}
