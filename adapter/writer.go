package adapter

import (
	"fmt"
	"io"
	"sync"

	"pulley/adapter/protocol"
)

// writer writes whole lines. Lines that became ready during a write are written together, and no line waits for others.
type writer struct {
	out  io.Writer
	fail func(error) // is called when out fails

	mu    sync.Mutex
	batch *batch // the lines that the next write takes

	writing chan struct{} // has a token while out is written to
}

// batch is lines that are written at once.
type batch struct {
	lines   []byte
	written bool // guarded by writing
	err     error
}

func newWriter(out io.Writer, fail func(error)) *writer {
	return &writer{out: out, fail: fail, batch: &batch{}, writing: make(chan struct{}, 1)}
}

// send returns when the message is written.
func (w *writer) send(m protocol.Response) error {
	line, err := m.Line()
	if err != nil {
		return err
	}
	w.mu.Lock()
	mine := w.batch
	mine.lines = append(mine.lines, line...)
	w.mu.Unlock()

	w.writing <- struct{}{}
	defer func() { <-w.writing }()
	if mine.written {
		return mine.err // another caller has written our line with its own
	}
	w.mu.Lock()
	w.batch = &batch{}
	w.mu.Unlock()
	if _, mine.err = w.out.Write(mine.lines); mine.err != nil {
		mine.err = fmt.Errorf("writing to pulley: %w", mine.err)
		w.fail(mine.err)
	}
	mine.written, mine.lines = true, nil
	return mine.err
}
