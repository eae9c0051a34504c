package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"pulley/adapter/protocol"
	"pulley/engine/pgserver/pgwire"
)

// Store is a database and a folder of one run.
type Store struct {
	protocol.Store

	server   string // DSN; empty: there is no database
	database string
	proxy    *pgwire.Proxy
}

// NewStore makes an empty folder, and an empty database on the server of a DSN, whose role must be allowed to do so. Adapters
// reach it through a proxy on a local TCP port, whatever way leads to the server. Without a DSN there is no database. The caller
// closes the store.
func NewStore(ctx context.Context, dsn string) (*Store, error) {
	dir, err := os.MkdirTemp("", "pulley-adapter-*")
	if err != nil {
		return nil, fmt.Errorf("no folder for the adapter: %w", err)
	}
	s := &Store{Store: protocol.Store{Dir: dir}}
	if dsn == "" {
		return s, nil
	}
	if err := s.makeDatabase(ctx, dsn); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

func (s *Store) makeDatabase(ctx context.Context, dsn string) (err error) {
	name := "pulley_" + strings.ToLower(rand.Text())
	if err := execute(ctx, dsn, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("no database for the adapter: %w; the role needs the right CREATEDB", err)
	}
	s.server, s.database = dsn, name
	if s.proxy, err = pgwire.Listen(dsn, nil); err != nil {
		return err
	}
	through, err := pgx.ParseConfig(s.proxy.DSN())
	if err != nil {
		return err
	}
	s.DSN = address(through, name)
	return nil
}

// address returns the URL of a database, without TLS.
func address(c *pgx.ConnConfig, database string) string {
	u := url.URL{Scheme: "postgres", Host: c.Host + ":" + strconv.Itoa(int(c.Port)), Path: "/" + database, RawQuery: "sslmode=disable"}
	u.User = url.User(c.User)
	if c.Password != "" {
		u.User = url.UserPassword(c.User, c.Password)
	}
	return u.String()
}

// Database returns the name of the database; empty: there is none.
func (s *Store) Database() string { return s.database }

// ServerDSN returns the DSN of the server, as NewStore was given it.
func (s *Store) ServerDSN() string { return s.server }

// URL returns the URL, without TLS, of a database on the server of a DSN.
func URL(dsn, database string) (string, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", err
	}
	return address(c, database), nil
}

// DatabaseDSN returns the DSN of a database on the server of a DSN, for this program.
func DatabaseDSN(dsn, database string) (string, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", err
	}
	if c.TLSConfig != nil {
		return "", errors.New("the server wants TLS")
	}
	u := url.URL{Scheme: "postgres", Path: "/" + database, User: url.UserPassword(c.User, c.Password)}
	q := url.Values{"host": {c.Host}, "port": {strconv.Itoa(int(c.Port))}, "sslmode": {"disable"}}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// Sever ends all connections to the database, and returns their number. New ones are possible.
func (s *Store) Sever() int {
	if s.proxy == nil {
		return 0
	}
	return s.proxy.Sever(true)
}

// Close removes the folder and the database, even if it is in use.
func (s *Store) Close(ctx context.Context) error {
	if s.proxy != nil {
		s.proxy.Close()
	}
	err := os.RemoveAll(s.Dir)
	if s.database != "" {
		drop := "DROP DATABASE " + pgx.Identifier{s.database}.Sanitize() + " WITH (FORCE)"
		if failed := execute(ctx, s.server, drop); failed != nil {
			err = errors.Join(err, fmt.Errorf("the database %s of the adapter stays: %w", s.database, failed))
		}
	}
	return err
}

func execute(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}
