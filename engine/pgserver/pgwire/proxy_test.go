package pgwire_test

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/pgserver/pgwire"
	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func through(t *testing.T, judge pgwire.Judge) (*pgwire.Proxy, *pgx.Conn) {
	t.Helper()
	p, err := pgwire.Listen(pgtest.DSN(t), func(uint64) pgwire.Judge { return judge })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return p, conn
}

func ask(t *testing.T, conn *pgx.Conn) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out string
	err := conn.QueryRow(ctx, "SELECT $1::text", "hello").Scan(&out)
	return out, err
}

func TestEveryMessagePassesInPieces(t *testing.T) {
	var client, server atomic.Int64
	p, conn := through(t, func(m *pgwire.Message) pgwire.Verdict {
		if m.Client {
			client.Add(1)
		} else {
			server.Add(1)
		}
		return pgwire.Verdict{Deliver: true, Slice: 3}
	})
	if got, err := ask(t, conn); got != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if client.Load() < 5 || server.Load() < 5 {
		t.Errorf("%d messages of the client and %d of the server were judged", client.Load(), server.Load())
	}
	p.Close()
	if _, err := ask(t, conn); err == nil {
		t.Error("a query succeeded through a closed proxy")
	}
	p.Close()
}

func TestEnds(t *testing.T) {
	for name, end := range map[string]pgwire.End{"close": pgwire.Close, "reset": pgwire.Reset} {
		t.Run(name, func(t *testing.T) {
			var armed atomic.Bool
			_, conn := through(t, func(m *pgwire.Message) pgwire.Verdict {
				if !m.Client && m.Type() == 'Z' && armed.Load() {
					return pgwire.Verdict{End: end}
				}
				return pgwire.Verdict{Deliver: true}
			})
			if got, err := ask(t, conn); got != "hello" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			armed.Store(true)
			_, err := ask(t, conn)
			if err == nil {
				t.Fatal("a query whose reply was lost succeeded")
			}
			if end == pgwire.Close && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the error is %v, want an unexpected end", err)
			}
		})
	}
}

func TestAWaitingJudgeLearnsOfTheEnd(t *testing.T) {
	waits := make(chan struct{}, 1)
	var armed atomic.Bool
	p, conn := through(t, func(m *pgwire.Message) pgwire.Verdict {
		if m.Client && armed.Load() {
			select {
			case waits <- struct{}{}:
			default:
			}
			<-m.Done
		}
		return pgwire.Verdict{Deliver: true}
	})
	armed.Store(true)
	failed := make(chan error, 1)
	go func() {
		_, err := ask(t, conn)
		failed <- err
	}()
	<-waits
	if n := p.Sever(false); n != 1 {
		t.Errorf("%d connections were there, want 1", n)
	}
	if err := <-failed; err == nil {
		t.Error("a query succeeded that nobody passed on")
	}
}

func TestText(t *testing.T) {
	text, rest := pgwire.Text([]byte("COMMIT\x00more"))
	if text != "COMMIT" || string(rest) != "more" {
		t.Errorf("%q, %q", text, rest)
	}
	if text, rest = pgwire.Text([]byte("no end")); text != "no end" || rest != nil {
		t.Errorf("%q, %q", text, rest)
	}
}
