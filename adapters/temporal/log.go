package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// Bounds of the log. While a database is away, every goroutine of a server tells of it.
const (
	linesMost = 20  // in each second
	bytesMost = 300 // of a line
)

// logger writes what the server warns of to standard error, which goes to pulley's log. It implements the server's log.Logger, and
// ends the process at a fatal message, as the server's own does.
type logger struct {
	mu     sync.Mutex
	second time.Time
	lines  int // in this second
	out    io.Writer
	exit   func()
	quiet  atomic.Bool // the server stops: its services miss each other
}

var _ log.Logger = (*logger)(nil)

func newLogger() *logger { return &logger{out: os.Stderr, exit: func() { os.Exit(1) }} }

func (l *logger) Debug(string, ...tag.Tag) {}

func (l *logger) Info(string, ...tag.Tag) {}

func (l *logger) Warn(message string, tags ...tag.Tag) { l.write("warn", message, tags) }

func (l *logger) Error(message string, tags ...tag.Tag) { l.write("error", message, tags) }

func (l *logger) DPanic(message string, tags ...tag.Tag) { l.write("panic", message, tags) }

func (l *logger) Panic(message string, tags ...tag.Tag) {
	l.write("panic", message, tags)
	panic(message)
}

func (l *logger) Fatal(message string, tags ...tag.Tag) {
	if l.quiet.Load() {
		return // such as of a member that has left its ring
	}
	_, _ = fmt.Fprintln(l.out, line("fatal", message, tags))
	l.exit()
}

// write writes a line, unless there were too many.
func (l *logger) write(level, message string, tags []tag.Tag) {
	if l.quiet.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.second) >= time.Second {
		if more := l.lines - linesMost; more > 0 {
			_, _ = fmt.Fprintf(l.out, "%d more lines of the server\n", more)
		}
		l.second, l.lines = now, 0
	}
	if l.lines++; l.lines <= linesMost {
		_, _ = fmt.Fprintln(l.out, line(level, message, tags))
	}
}

// line is a message in one line, without what only developers of the server need.
func line(level, message string, tags []tag.Tag) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", level, message)
	for _, t := range tags {
		switch t.Key() {
		case "logging-call-at", "stacktrace", "component", "service", "address":
		default:
			fmt.Fprintf(&b, ", %s: %v", t.Key(), t.Value())
		}
	}
	text := strings.Join(strings.Fields(b.String()), " ")
	if len(text) > bytesMost {
		text = strings.ToValidUTF8(text[:bytesMost], "") + "…"
	}
	return text
}
