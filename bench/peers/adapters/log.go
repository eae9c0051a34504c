package adapters

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"pulley/bench/peers/peer"
)

// logger passes on another system's warnings and errors.
func logger(env peer.Env) *slog.Logger { return slog.New(lines{log: env.Log}) }

// lines is a slog.Handler that makes one line of each record.
type lines struct {
	log   func(string)
	attrs []slog.Attr
}

func (lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

func (l lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	add := func(a slog.Attr) bool {
		fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		return true
	}
	for _, a := range l.attrs {
		add(a)
	}
	r.Attrs(add)
	l.log(strings.Join(strings.Fields(b.String()), " "))
	return nil
}

func (l lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.attrs = append(l.attrs[:len(l.attrs):len(l.attrs)], attrs...)
	return l
}

// WithGroup implements slog.Handler. Groups are ignored.
func (l lines) WithGroup(string) slog.Handler { return l }
