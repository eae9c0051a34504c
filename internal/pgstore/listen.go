package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/engine/backend/postgres"
)

// channel returns the schema's notification channel. Postgres cuts names at 63 bytes; a clash costs only a needless read.
func (s *Store) channel() string {
	name := "pulley_" + s.Schema
	return name[:min(len(name), 63)]
}

// errNoListening is a problem, told once.
var errNoListening = errors.New("a pooler of transactions passes no notifications on: engines find each other's work by polling, up to a quarter of a second later; " +
	"--direct-dsn with the server's own DSN brings notifications, as does --pool-mode session if the pooler pools sessions")

// pollPause is how often ListenTo looks for what would be notified. A request to another engine waits for that long.
const pollPause = 50 * time.Millisecond

// Listen calls wake for each notification of another store, until ctx ends. It uses its own connection. If none lasts, it never
// calls wake.
func (s *Store) Listen(ctx context.Context, wake func()) error {
	nothing := func(ListenConn) {}
	return s.listen(ctx, func(ListenConn) error { return nil }, func(ListenConn, string) { wake() }, nothing)
}

// listen calls begun when it listens, heard for notifications of others, and over before it closes the connection.
func (s *Store) listen(ctx context.Context, begun func(ListenConn) error, heard func(ListenConn, string), over func(ListenConn)) error {
	if s.dial == nil {
		s.unheard.Do(func() { s.Problem(ctx, "listening", errNoListening) })
		s.Clock.Wait(ctx, -1)
		return nil
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return listenError(ctx, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return listenError(ctx, err)
	}
	defer over(conn)
	if err := begun(conn); err != nil && conn.IsClosed() {
		return listenError(ctx, err)
	}
	for {
		payload, err := conn.Next(ctx)
		if err != nil {
			return listenError(ctx, err)
		}
		if payload != s.name { // not its own
			heard(conn, payload)
		}
	}
}

func listenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return postgres.Explain(err)
}

// Notify notifies all others who listen to the schema.
func (s *Store) Notify(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.channel(), s.name)
	return postgres.Explain(err)
}

// Channel returns the schema's notification channel for a topic.
func (s *Store) Channel(topic string) string {
	name := "pulley_" + topic + "_" + s.Schema
	return name[:min(len(name), 63)]
}

// ListenTo calls heard, from one goroutine, with the notifications of a topic, until ctx or its own connection ends. Where
// notifications may have been missed, it calls heard with an empty payload: when it begins, and again and again if no connection
// lasts.
func (s *Store) ListenTo(ctx context.Context, topic string, heard func(payload string)) error {
	if s.dial == nil {
		for heard(""); s.Clock.Wait(ctx, pollPause) == TimedOut; {
			heard("")
		}
		return nil
	}
	conn, err := s.dial(ctx)
	if err != nil {
		return listenError(ctx, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.Channel(topic)}.Sanitize()); err != nil {
		return listenError(ctx, err)
	}
	heard("") // notifications may have been missed before
	for {
		payload, err := conn.Next(ctx)
		if err != nil {
			return listenError(ctx, err)
		}
		heard(payload)
	}
}

// NotifyTopic notifies those who listen to a topic.
func (s *Store) NotifyTopic(ctx context.Context, topic, payload string) error {
	_, err := s.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.Channel(topic), payload)
	return postgres.Explain(err)
}
