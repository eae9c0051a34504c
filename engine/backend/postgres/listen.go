package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// channel is the notification channel of a schema. Postgres cuts names at 63 bytes; a schema's name
// is no longer than that itself, and a clash costs only a needless look.
func (s *Store) channel() string {
	name := "pulley_" + s.Schema
	return name[:min(len(name), 63)]
}

// Listen calls wake for every notification of the schema that does not come from this store, until ctx
// ends. It holds a connection of its own.
func (s *Store) Listen(ctx context.Context, wake func()) error {
	nothing := func(ListenConn) {}
	return s.listen(ctx, func(ListenConn) error { return nil }, func(ListenConn, string) { wake() }, nothing)
}

// listen calls begun when it listens, heard for what others notify, and over before the connection is closed.
func (s *Store) listen(ctx context.Context, begun func(ListenConn) error, heard func(ListenConn, string), over func(ListenConn)) error {
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
		if payload != s.name { // its own it knows of
			heard(conn, payload)
		}
	}
}

func listenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return Explain(err)
}

// Notify wakes everybody else who listens to the schema.
func (s *Store) Notify(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.channel(), s.name)
	return Explain(err)
}

// Channel is the name of a schema's notification channel for a topic of a design's own.
func (s *Store) Channel(topic string) string {
	name := "pulley_" + topic + "_" + s.Schema
	return name[:min(len(name), 63)]
}

// ListenTo calls heard, from one goroutine, with what is told about a topic, until ctx ends or the connection,
// which is its own, does.
func (s *Store) ListenTo(ctx context.Context, topic string, heard func(payload string)) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return listenError(ctx, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.Channel(topic)}.Sanitize()); err != nil {
		return listenError(ctx, err)
	}
	heard("") // something may have been told before
	for {
		payload, err := conn.Next(ctx)
		if err != nil {
			return listenError(ctx, err)
		}
		heard(payload)
	}
}

// NotifyTopic tells those who listen to a topic.
func (s *Store) NotifyTopic(ctx context.Context, topic, payload string) error {
	_, err := s.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.Channel(topic), payload)
	return Explain(err)
}
