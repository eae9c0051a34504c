package live

import (
	"fmt"
	"os"
	"sync"
	"time"

	"pulley/reports/record"
)

// Mode is how a run is shown.
type Mode int

// The modes.
const (
	None  Mode = iota // not at all
	Plain             // lines for a log
	Line              // a line that changes; the screen is a terminal
)

// Options say where a run is shown.
type Options struct {
	Kind    string   // the command
	Command []string // the command line
	Mode    Mode
	Screen  *Screen
	// Dir gets the progress file; empty: none is written.
	Dir string
	// Problem receives the first failure to write the file. Nothing else fails by that.
	Problem func(error)

	now func() time.Time // for tests, which also tick by themselves
}

// Step is what is under way.
type Step struct {
	What   string  // in few words: "chain 10 on push, run 2"
	Detail string  // the figures of the moment
	Done   float64 // of Total
	Total  float64 // 0: unknown
	// Unit is of both, in the plural: "runs". With "s", Done continues with the time.
	Unit string
}

// Run is the progress of a run. A nil Run shows nothing.
type Run struct {
	o Options

	mu      sync.Mutex
	p       record.Progress
	first   Step      // the first of this unit, from which the rate is computed
	firstAt time.Time // when it was
	stepAt  time.Time // when Done changed last
	printed time.Time // when a line was last printed, for logs
	drawn   time.Time
	written time.Time
	said    bucket
	warned  bucket
	failed  bool // the file cannot be written
	ended   bool

	stop, stopped chan struct{}
}

const (
	tickEvery  = time.Second
	drawEvery  = 100 * time.Millisecond
	writeEvery = 2 * time.Second
	// plainEvery is the longest silence of a log.
	plainEvery = 10 * time.Second
)

// Begin shows a run until End.
func Begin(o Options) *Run {
	r := begin(o)
	r.stop, r.stopped = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(r.stopped)
		ticker := time.NewTicker(tickEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				r.tick()
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

func begin(o Options) *Run {
	if o.now == nil {
		o.now = time.Now
	}
	now := o.now()
	r := &Run{o: o, printed: now, firstAt: now, stepAt: now}
	r.said, r.warned = bucket{left: linesAtOnce, at: now}, bucket{left: linesAtOnce, at: now}
	r.p = record.Progress{Kind: o.Kind, PID: os.Getpid(), StartedAt: now.UTC(), State: record.StateRunning}
	for _, word := range o.Command {
		r.p.Command = append(r.p.Command, bounded(word))
	}
	r.write(now)
	return r
}

// Step says what is under way.
func (r *Run) Step(s Step) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.now()
	if s.Unit != r.p.Unit || s.Done < r.p.Done && s.Unit != "s" {
		r.first, r.firstAt, r.stepAt = s, now, now
	}
	if s.Done != r.p.Done {
		r.stepAt = now
	}
	r.p.What, r.p.Detail, r.p.Done, r.p.Total, r.p.Unit = bounded(s.What), bounded(s.Detail), s.Done, s.Total, s.Unit
	r.show(now, false)
}

// Note says what has happened: in logs and the file.
func (r *Run) Note(format string, args ...any) {
	r.happened(format, args, func(r *Run) *bucket {
		if r.o.Mode == Plain {
			return &r.said
		}
		return nil
	})
}

// Say says what has happened: on a terminal too, above the line.
func (r *Run) Say(format string, args ...any) {
	r.happened(format, args, func(r *Run) *bucket { return &r.said })
}

// Warn says what is wrong, as Say does; the line and the file keep the last warning.
func (r *Run) Warn(format string, args ...any) {
	r.happened(format, args, func(r *Run) *bucket {
		r.p.Warnings++
		r.p.Warning = bounded(fmt.Sprintf(format, args...))
		return &r.warned
	})
}

// happened keeps a line, and prints it if there is a bucket with room.
func (r *Run) happened(format string, args []any, in func(*Run) *bucket) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.now()
	line := bounded(fmt.Sprintf(format, args...))
	if r.p.Lines = append(r.p.Lines, line); len(r.p.Lines) > record.ProgressLines {
		r.p.Lines = append([]string(nil), r.p.Lines[1:]...)
	}
	if b := in(r); b != nil && r.o.Mode != None {
		if text, ok := b.take(line, now); ok {
			r.printed = now
			r.o.Screen.Print(text)
		}
	}
	r.show(now, false)
}

// tick is called about once a second.
func (r *Run) tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.show(r.o.now(), true)
}

func (r *Run) show(now time.Time, tick bool) {
	if r.ended {
		return
	}
	switch r.o.Mode {
	case Line:
		if tick || now.Sub(r.drawn) >= drawEvery {
			r.drawn = now
			at := r.at(now)
			r.o.Screen.Line(func(width int) string { return text(at, width) })
		}
	case Plain:
		if r.p.Unit != "" && now.Sub(r.printed) >= plainEvery {
			r.printed = now
			r.o.Screen.Print(plain(r.at(now)))
		}
	}
	if now.Sub(r.written) >= writeEvery {
		r.write(now)
	}
}

// at is the progress at a moment.
func (r *Run) at(now time.Time) *record.Progress {
	p := r.p
	p.At = now.UTC()
	if p.Unit == "s" {
		if p.Done += now.Sub(r.stepAt).Seconds(); p.Total > 0 {
			p.Done = min(p.Done, p.Total)
			left := p.Total - p.Done
			p.LeftS = &left
		}
		return &p
	}
	done, took := p.Done-r.first.Done, r.stepAt.Sub(r.firstAt).Seconds()
	if done <= 0 || took <= 0 {
		return &p
	}
	rate := done / took
	p.RatePerS = &rate
	if p.Total > p.Done && done >= doneLeast {
		left := max(0, (p.Total-p.Done)/rate-now.Sub(r.stepAt).Seconds())
		p.LeftS = &left
	}
	return &p
}

// doneLeast is from where on what is left is estimated: the first ones show little.
const doneLeast = 3

func (r *Run) write(now time.Time) {
	if r.o.Dir == "" || r.failed {
		return
	}
	r.written = now
	if err := record.WriteProgress(r.o.Dir, r.at(now)); err != nil {
		r.failed = true
		if r.o.Problem != nil {
			r.o.Problem(err)
		}
	}
}

// End removes the line and, if the run has written what it found, the file. Else the file keeps how the run ended: state is
// one of package record.
func (r *Run) End(state string, failure error) {
	if r == nil {
		return
	}
	if r.stop != nil {
		close(r.stop)
		<-r.stopped
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	now := r.o.now()
	if r.o.Mode == Line {
		r.o.Screen.Line(nil)
	}
	for _, b := range []*bucket{&r.said, &r.warned} {
		if rest := b.rest(); rest != "" && r.o.Mode != None {
			r.o.Screen.Print(rest)
		}
	}
	if r.o.Dir == "" {
		return
	}
	if state == record.StateEnded {
		_ = record.RemoveProgress(r.o.Dir) // a file that stays says "running" and grows old, which readers see
		return
	}
	if r.p.State = state; failure != nil {
		r.p.Error = bounded(failure.Error())
	}
	r.write(now)
}

func bounded(text string) string { return Clip(Clean(text), record.ProgressText) }
