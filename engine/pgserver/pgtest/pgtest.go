// Package pgtest gives tests a real Postgres: one server for a test binary, found or started as
// pgserver does, and a new schema for each test.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pulley/engine/pgserver"
)

var (
	once   sync.Once
	server *pgserver.Server
	failed error
	serial atomic.Int64
)

// Main runs the tests of a binary and stops the server that they used. Call it from TestMain.
func Main(m *testing.M) { os.Exit(Run(m)) }

// Run is Main for a TestMain that goes on afterwards. It gives the exit status.
func Run(m *testing.M) int {
	code := m.Run()
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := server.Close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the test server:", err)
			code = max(code, 1)
		}
		cancel()
	}
	return code
}

// Server gives the server of this test binary. Without one the test fails: a test that needs Postgres
// and does not get it has not passed.
func Server(t testing.TB) *pgserver.Server {
	t.Helper()
	once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		server, failed = pgserver.Open(ctx, pgserver.Options{})
	})
	if failed != nil {
		t.Fatalf("no Postgres: %v", failed)
	}
	return server
}

// DSN gives a connection string of the server of this test binary.
func DSN(t testing.TB) string {
	t.Helper()
	return Server(t).DSN()
}

// Schema gives a name for a schema that no other test of the server uses.
func Schema(t testing.TB) string {
	t.Helper()
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(t.Name()))
	return fmt.Sprintf("t%d_%d_%.30s", os.Getpid(), serial.Add(1), base)
}
