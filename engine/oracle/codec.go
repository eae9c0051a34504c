package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
)

// An event holds a few values at most.
const lineBytesMax = 64 << 20

// ReadHistory reads a history of JSON lines (history.ndjson). A first line without the version, an invalid event, and an
// unknown field are errors that name the line. Only an unfinished last line, as a killed process leaves it, is dropped and
// reported as torn. What a buffering recorder had not written is missing without a trace, and needs Rules.Partial; without
// buffering only the torn line can be lost.
func ReadHistory(r io.Reader) (_ History, torn bool, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	known := words{}
	var h pieces
	for number := 1; ; number++ {
		line, err := readLine(in)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return nil, false, fmt.Errorf("history line %d: %w", number, err)
		}
		switch {
		case ended && len(line) == 0:
			return h.joined(), number == 1, nil
		case len(bytes.TrimSpace(line)) == 0:
			return nil, false, fmt.Errorf("history line %d is empty; write one event per line", number)
		}
		e, err := decodeEvent(line)
		if err != nil && ended {
			return h.joined(), true, nil
		}
		if err == nil && number == 1 && e.Kind != Began {
			err = fmt.Errorf("the first event is %q; a history starts with %q and its version", e.Kind, Began)
		}
		if err != nil {
			return nil, false, fmt.Errorf("history line %d: %w", number, err)
		}
		known.share(&e)
		h.add(e)
		if ended {
			return h.joined(), false, nil
		}
	}
}

// pieces is a growing history. Events are large: moving all of them repeatedly would take longer than reading them.
type pieces []History

const pieceEvents = 4096

func (p *pieces) add(e Event) {
	if n := len(*p); n == 0 || len((*p)[n-1]) == pieceEvents {
		*p = append(*p, make(History, 0, pieceEvents))
	}
	last := &(*p)[len(*p)-1]
	*last = append(*last, e)
}

func (p pieces) joined() History { return slices.Concat(p...) }

type words map[string]string

func (w words) share(e *Event) {
	for _, s := range []*string{&e.Source, &e.Process, &e.Owner, &e.Instance, &e.Node, &e.Path, &e.Action, (*string)(&e.Kind), (*string)(&e.Answer), (*string)(&e.Status)} {
		if known, ok := w[*s]; ok {
			*s = known
		} else {
			w[*s] = *s
		}
	}
}

// ReadHistories reads and merges the files of several recorders, one for each incarnation of each process. It names the files
// with a torn line.
func ReadHistories(files ...string) (_ History, torn []string, err error) {
	parts := make([]History, len(files))
	for i, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		h, cut, err := ReadHistory(f)
		_ = f.Close() // only read
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		if parts[i] = h; cut {
			torn = append(torn, name)
		}
	}
	return Merge(parts...), torn, nil
}

// readLine returns io.EOF if the input ends before the line does.
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

// WriteHistory writes a history as JSON lines, with Began first.
func WriteHistory(w io.Writer, h History) error {
	out := bufio.NewWriter(w)
	if len(h) == 0 || h[0].Kind != Began {
		if err := writeEvent(out, &Event{Kind: Began, Version: version}); err != nil {
			return err
		}
	}
	for i := range h {
		if err := writeEvent(out, &h[i]); err != nil {
			return fmt.Errorf("history event %d: %w", i+1, err)
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

// Merge orders the histories of several recorders by time. Events of one recorder keep their order, even at equal times.
func Merge(parts ...History) History {
	all := slices.Concat(parts...)
	order := make([]int, len(all)) // events are large: each is moved once
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(all[a].AtNS, all[b].AtNS), cmp.Compare(a, b)) })
	merged := make(History, len(all))
	for i, from := range order {
		merged[i] = all[from]
	}
	return merged
}

// Recording describes a recorder.
type Recording struct {
	Source string
	Clock  Clock // shared by all recorders of the history; nil: MachineClock

	// Buffered writes events in large pieces, and on Flush. A killed process then loses the last of them, whose effects others
	// may see. Without it each Record is one write.
	Buffered bool
}

// Recorder writes a history while it happens. It is safe for concurrent use: the lines are in the order in which Record calls
// acquire its lock.
type Recorder struct {
	Recording
	mu  sync.Mutex
	out *bufio.Writer
	err error // the first; nothing is written after it
}

// NewRecorder makes a recorder, and records Began. It does not close w.
func NewRecorder(w io.Writer, how Recording) *Recorder {
	if how.Clock == nil {
		how.Clock = MachineClock
	}
	r := &Recorder{Recording: how, out: bufio.NewWriterSize(w, 1<<16)}
	r.Record(Event{Kind: Began, Version: version})
	return r
}

// Record writes simultaneous events, with the source and the time. It keeps an error for Flush: the recorded run must not fail
// because of its record.
func (r *Recorder) Record(events ...Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.Clock()
	for i := range events {
		if r.err != nil {
			return
		}
		e := events[i]
		e.AtNS, e.Source = now, r.Source
		r.err = writeEvent(r.out, &e)
	}
	if r.err == nil && !r.Buffered {
		r.err = r.out.Flush()
	}
}

// Flush writes everything recorded, and returns the first error of any Record or Flush.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = r.out.Flush()
	}
	return r.err
}
