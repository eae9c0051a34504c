package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestDSN(t *testing.T) {
	running := sharedServer(t)
	var lines []string
	for name, o := range map[string]Options{
		"given":           {DSN: running.DSN(), Settings: map[string]string{"work_mem": "1MB"}, Log: func(line string) { lines = append(lines, line) }},
		"given as pairs":  {DSN: pairs(t, running.DSN())},
		"the environment": {},
	} {
		t.Run(name, func(t *testing.T) {
			if o.DSN == "" {
				t.Setenv("PULLEY_DSN", running.DSN())
			}
			s, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if s.Way() != WayDSN || s.Started() || s.Version() != running.Version() || !s.HasStatementStats() {
				t.Errorf("way %s, started %v, version %d, statement counters %v", s.Way(), s.Started(), s.Version(), s.HasStatementStats())
			}
			if want := fmt.Sprintf("DSN: PostgreSQL %s at postgres@%s(5432)/postgres", s.facts.versionText, running.cluster.place.socket.path); s.String() != want {
				t.Errorf("it describes itself as %q, want %q", s, want)
			}
			for _, err := range []error{s.Stop(t.Context(), StopFast), s.Start(t.Context())} {
				if !errors.Is(err, ErrNotManaged) {
					t.Errorf("a server that is not ours is stopped or started: %v", err)
				}
			}
			if err := s.Close(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := inspect(t.Context(), running.DSN(), wanted{}); err != nil {
				t.Errorf("Close ended somebody else's server: %v", err)
			}
		})
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "settings are not applied") {
		t.Errorf("it is not said that the settings have no effect:\n%s", text)
	}
}

func pairs(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s", q.Get("host"), q.Get("port"), q.Get("user"), strings.TrimPrefix(u.Path, "/"))
}

const testPassword = "corr3ct-h0rse"

// withPasswords has a server ask for passwords during the test, and creates users and databases that lack rights.
func withPasswords(t *testing.T) *Server {
	t.Helper()
	s := sharedServer(t)
	for _, sql := range []string{
		"CREATE ROLE poor LOGIN PASSWORD '" + testPassword + "'",
		"CREATE ROLE owner LOGIN PASSWORD '" + testPassword + "'",
		"CREATE DATABASE closed", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC",
		"CREATE DATABASE crowded", "ALTER DATABASE crowded CONNECTION LIMIT 0",
		"CREATE DATABASE readonly", "ALTER DATABASE readonly SET default_transaction_read_only = on",
		"CREATE DATABASE fine OWNER owner",
	} {
		execSQL(t, s.DSN(), sql)
	}
	hba := filepath.Join(s.cluster.place.cluster(), "pg_hba.conf")
	before, err := os.ReadFile(hba)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(hba, before, 0o600); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(hba, []byte("local all postgres trust\nlocal all all scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	execSQL(t, s.DSN(), "SELECT pg_reload_conf()")
	eventually(t, "the server asks for passwords", func() bool {
		_, err := inspect(t.Context(), address(s, "owner", "wrong", "fine"), wanted{})
		return err != nil
	})
	return s
}

func address(s *Server, user, password, db string) string {
	return fmt.Sprintf("host=%s port=5432 user=%s password=%s dbname=%s", s.cluster.place.socket.path, user, password, db)
}

func TestDSNWithoutRights(t *testing.T) {
	s := withPasswords(t)
	for name, test := range map[string]struct {
		dsn  string
		says []string
	}{
		"wrong password": {address(s, "owner", "wrong-s3cret", "fine"), []string{`turns user "owner" away`, "password authentication failed", "check user and password"}},
		"unknown user":   {address(s, "ghost", "wrong-s3cret", "fine"), []string{`turns user "ghost" away`}},
		"no database":    {address(s, "owner", testPassword, "nowhere"), []string{`no database "nowhere"`, "createdb"}},
		"no connect":     {address(s, "poor", testPassword, "closed"), []string{`user "poor" may not connect`, "grant CONNECT"}},
		"no create":      {address(s, "poor", testPassword, "fine"), []string{`user "poor" may not create schemas`, `GRANT CREATE ON DATABASE "fine" TO "poor"`}},
		"full":           {address(s, "owner", testPassword, "crowded"), []string{"no connection left", "too many connections"}},
		"read only":      {address(s, "postgres", "any", "readonly"), []string{"accepts no writes"}},
	} {
		t.Run(name, func(t *testing.T) { checkDSNRefused(t, test.dsn, test.says...) })
	}
	if _, err := inspect(t.Context(), address(s, "owner", testPassword, "fine"), wanted{}); err != nil {
		t.Errorf("a user who may is refused: %v", err)
	}
}

func checkDSNRefused(t *testing.T, dsn string, says ...string) {
	t.Helper()
	checkDSNRefusedWithin(t, 2*time.Minute, dsn, says...)
}

func checkDSNRefusedWithin(t *testing.T, timeout time.Duration, dsn string, says ...string) {
	t.Helper()
	s, err := Open(t.Context(), Options{DSN: dsn, StartTimeout: timeout, Log: func(line string) { t.Errorf("logged: %s", line) }})
	if err == nil {
		_ = s.Close(t.Context())
		t.Fatal("accepted")
	}
	checkLine(t, err.Error())
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	for _, secret := range []string{testPassword, "wrong-s3cret", "s3cret"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("it gives the password away: %q", err)
		}
	}
}

func TestDSNUnreachable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	_ = listener.Close()
	for name, test := range map[string]struct{ dsn, says string }{
		"nothing listens": {"postgres://me:s3cret@" + nobody + "/db?sslmode=disable", "nothing listens at me@" + nobody + "/db"},
		"unknown host":    {"postgres://me:s3cret@no-such-host.invalid/db", "no-such-host.invalid"},
		"no socket":       {"host=/no/such/directory user=me password=s3cret dbname=db", "there is no socket at me@/no/such/directory"},
		"not a DSN":       {"s3cret", "cannot be read"},
		"bad port":        {"postgres://me:s3cret@host:port/db", "cannot be read"},
		"bad escape":      {"postgres://me:s3cret%zz@host/db", "cannot be read"},
		"bad pairs":       {"host=h password='s3cret", "cannot be read"},
		"bad TLS mode":    {"postgres://me:s3cret@host/db?sslmode=s3cret", "cannot be read"},
		"bad timeout":     {"host=h password=s3cret connect_timeout=s3cret", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) { checkDSNRefused(t, test.dsn, test.says) })
	}
}

// fakeServer speaks enough of the protocol to greet, as a server that is too old or not ready would. Each connection gets the
// next answer, the last one repeats.
func fakeServer(t *testing.T, answers ...func(*pgproto3.Backend)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			backend := pgproto3.NewBackend(conn, conn)
			if _, err := backend.ReceiveStartupMessage(); err == nil {
				answers[min(i, len(answers)-1)](backend)
				_ = backend.Flush()
				_, _ = backend.Receive() // until the client has read it and disconnects
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "postgres://me:s3cret@" + listener.Addr().String() + "/db?sslmode=disable"
}

func greet(version string) func(*pgproto3.Backend) {
	return func(b *pgproto3.Backend) {
		b.Send(&pgproto3.AuthenticationOk{})
		b.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
		b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	}
}

func notReady(b *pgproto3.Backend) {
	b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: codeCannotConnectNow, Message: "the database system is starting up"})
}

func TestTooOldServer(t *testing.T) {
	checkDSNRefused(t, fakeServer(t, greet("9.6.24")), "PostgreSQL 9.6.24", "too old", "version 13 or later")
	checkDSNRefused(t, fakeServer(t, greet("12.22 (Debian 12.22-1)")), "PostgreSQL 12.22 ", "too old")
}

func TestServerStartingUp(t *testing.T) {
	checkDSNRefused(t, fakeServer(t, notReady, notReady, greet("9.6.24")), "PostgreSQL 9.6.24")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := Open(ctx, Options{DSN: fakeServer(t, notReady)})
	if err == nil {
		t.Fatal("accepted")
	}
	checkLine(t, err.Error())
}

func TestServerIsSilent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // never accepts
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, err = Open(t.Context(), Options{DSN: "postgres://me:s3cret@" + listener.Addr().String() + "/db", StartTimeout: 300 * time.Millisecond})
	if err == nil {
		t.Fatal("accepted")
	}
	checkLine(t, err.Error())
	if !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("it says %q", err)
	}
	checkDSNRefusedWithin(t, 300*time.Millisecond, fakeServer(t, func(*pgproto3.Backend) {}), "127.0.0.1")
}

// FuzzDSNErrorHidesPassword checks that no message contains a password, even if the DSN is malformed.
func FuzzDSNErrorHidesPassword(f *testing.F) {
	shapes := []string{
		"postgres://me:%s@host:port/db", "postgres://me:%s@host/db?sslmode=wrong", "postgres://me:%s@[::1/db",
		"host=h password=%s sslmode=wrong", "host=h password='%s' port=x", "password = '%s", "postgres://h/db?password=%s&port=x",
		"postgres:// me:%s@h", "me:%s@host/db", "postgresql://me:%s@host:1/db?connect_timeout=never",
	}
	for i := range shapes {
		for _, password := range []string{"hunter2!", "p@ss:w/rd#1", "a'b\\c d", "%zz%41Q", "päss🔑wort", `q"uo"te9`, "two\nlines"} {
			f.Add(i, password)
		}
	}
	f.Fuzz(func(t *testing.T, shape int, password string) {
		if shape < 0 || shape >= len(shapes) || len(password) < 6 || strings.Count(password, password[:1]) > 3 {
			t.Skip("not a password that could be told from the rest of the message")
		}
		dsn := fmt.Sprintf(shapes[shape], password)
		_, err := pgx.ParseConfig(dsn)
		if err == nil {
			return // it is well-formed: nothing to explain
		}
		text := dsnSyntaxError(dsn, err).Error()
		const frame = "the DSN cannot be read: ; write postgres://user:password@host:5432/database, or host=... user=... dbname=..."
		if strings.Contains(text, password) && !strings.Contains(frame, password) {
			t.Errorf("%q gives the password away: %s", dsn, text)
		}
		checkLine(t, text)
	})
}

func TestWeakness(t *testing.T) {
	for want, d := range map[string]Durability{
		"":             {Fsync: "on", SynchronousCommit: "local", FullPageWrites: "on"},
		"fsync is off": {Fsync: "off", SynchronousCommit: "on", FullPageWrites: "on"},
		"fsync is unknown, synchronous_commit is unknown, full_page_writes is unknown": {},
	} {
		if got := d.Weakness(); got != want {
			t.Errorf("%+v: %q, want %q", d, got, want)
		}
	}
}
