package check

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// lineBytesMax bounds a line of a history: an event holds a few values at most.
const lineBytesMax = 64 << 20

// ReadHistory reads a history of JSON lines (history.ndjson). It is strict: a line that is not a valid
// event, or has a field that events do not have, is an error that names the line, and nothing is
// returned. Only a last line that was not finished, as a killed process leaves it, is dropped; torn
// tells of it, and calls for Rules.Partial.
func ReadHistory(r io.Reader) (_ History, torn bool, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var h History
	for number := 1; ; number++ {
		line, err := readLine(in)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, false, fmt.Errorf("history line %d: %w", number, err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			e, err := decodeEvent(line)
			if err != nil && ended {
				return h, true, nil
			}
			if err != nil {
				return nil, false, fmt.Errorf("history line %d: %w", number, err)
			}
			h = append(h, e)
		} else if !ended {
			return nil, false, fmt.Errorf("history line %d is empty; write one event per line", number)
		}
		if ended {
			return h, false, nil
		}
	}
}

// readLine reads up to the end of the line. The error is io.EOF where the input ends before it.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > lineBytesMax {
			return nil, fmt.Errorf("it has more than %d bytes", lineBytesMax)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func decodeEvent(line []byte) (Event, error) {
	var e Event
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return e, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return e, errors.New("there is more than one event")
	}
	return e, e.Validate()
}

// WriteHistory writes a history as JSON lines.
func WriteHistory(w io.Writer, h History) error {
	out := bufio.NewWriter(w)
	for i := range h {
		if err := writeEvent(out, &h[i]); err != nil {
			return fmt.Errorf("history line %d: %w", i+1, err)
		}
	}
	return out.Flush()
}

func writeEvent(w *bufio.Writer, e *Event) error {
	if err := e.Validate(); err != nil {
		return err
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Merge puts the histories of several recorders in the order of their times. Events of one recorder
// keep their order, also where their times are equal.
func Merge(parts ...History) History {
	var all History
	for _, p := range parts {
		all = append(all, p...)
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.AtNS, b.AtNS) })
	return all
}

// Recorder writes a history while it happens. It is safe for concurrent use: the order of the lines is
// the order in which calls of Record got hold of it.
type Recorder struct {
	mu     sync.Mutex
	out    *bufio.Writer
	source string
	now    func() time.Time
	err    error // the first one; nothing is written after it
}

// NewRecorder makes a recorder that stamps each event with a source and with the time that now tells.
// It does not close w.
func NewRecorder(w io.Writer, source string, now func() time.Time) *Recorder {
	return &Recorder{out: bufio.NewWriterSize(w, 1<<16), source: source, now: now}
}

// Record writes an event. An error is kept for Flush: what is being recorded must not fail because of
// its record.
func (r *Recorder) Record(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	e.AtNS, e.Source = r.now().UnixNano(), r.source
	r.err = writeEvent(r.out, &e)
}

// Flush hands what was recorded so far to the writer, and gives the first error of any Record or
// Flush.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.out.Flush()
	}
	return r.err
}
