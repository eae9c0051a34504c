package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

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

// Tell tells those who listen to a topic.
func (s *Store) Tell(ctx context.Context, topic, payload string) error {
	_, err := s.Pool.Exec(ctx, "SELECT pg_notify($1, $2)", s.Channel(topic), payload)
	return Explain(err)
}
