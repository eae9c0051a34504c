// Package lines splits a stream into lines of bounded length, for protocols whose messages are lines.
package lines

import (
	"bufio"
	"errors"
	"io"
)

const (
	bufferSize = 64 << 10
	// keptMost bounds the memory that a reader keeps after a long line.
	keptMost = 1 << 20
	// skipFactor bounds the rest of a too long line, as a multiple of a line.
	skipFactor = 16
)

// ErrEndless ends reading at an endless line.
var ErrEndless = errors.New("it wrote a line without an end")

// Reader reads lines. It never holds more than the longest line.
type Reader struct {
	in      *bufio.Reader
	most    int    // bytes of a line, including its line feed
	long    []byte // of a line that does not fit into the buffer
	skip    bool   // skip the rest of a too long line
	skipped int    // skipped bytes of it
}

// NewReader reads lines of at most most bytes, including their line feeds, from r.
func NewReader(r io.Reader, most int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, min(bufferSize, most)), most: most}
}

// ReadLine returns a line without its line feed, or the begin of a too long line, whose rest is skipped. It is valid until the next
// call. With an error ReadLine returns what came after the last line feed. The error is the underlying reader's, io.EOF at the end,
// or ErrEndless.
func (r *Reader) ReadLine() (line []byte, tooLong bool, err error) {
	r.long = r.long[:0]
	if cap(r.long) > keptMost {
		r.long = nil // releases a long line's memory
	}
	for {
		part, err := r.in.ReadSlice('\n')
		if r.skip {
			r.skipped += len(part)
			r.skip = errors.Is(err, bufio.ErrBufferFull)
			switch {
			case r.skip && r.skipped > skipFactor*r.most:
				return nil, false, ErrEndless
			case r.skip || err == nil:
				continue
			}
			return nil, false, err
		}
		switch {
		case err == nil && len(r.long) == 0:
			return part[:len(part)-1], false, nil
		case err == nil && len(r.long)+len(part) <= r.most:
			r.long = append(r.long, part[:len(part)-1]...)
			return r.long, false, nil
		case len(r.long)+len(part) > r.most:
			r.skip, r.skipped = err != nil, 0
			return append(r.long, part[:r.most-len(r.long)]...), true, nil
		}
		r.long = append(r.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r.long, false, err
		}
	}
}
