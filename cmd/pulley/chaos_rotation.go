package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

var errNightOver = errors.New("the time is over")

// rotation is the endless sequence of runs of nights with a time limit: every scheduler with one set of kinds, then with the
// next set, and then all again with the next seed. Each night continues where the previous one stopped.
type rotation struct {
	*nightly
	sets      [][]string
	file      string // has the next night's first run
	remaining func() time.Duration
	since     func() time.Duration

	mu     sync.Mutex
	next   int          // the first run that has not begun
	undone map[int]bool // begun, and not done
	beyond []lengthBeyond
}

// lengthBeyond is how long a set's longest run lasted beyond the time of its faults.
type lengthBeyond struct {
	known bool
	most  time.Duration
}

// beyondFirst estimates lengthBeyond before a set's first run; beyondSpare is always reserved. closing is reserved to remove
// the runs' files; a short night reserves less.
const (
	beyondFirst = time.Minute
	beyondSpare = 5 * time.Second
	closing     = 5 * time.Second
)

type place struct {
	Next int `json:"next"` // the next night's first run
}

const stateFile = "state.json"

// within runs the rotation until the time is over. A run that is then under way does not count; the next night repeats it.
func (n *nightly) within(ctx context.Context) error {
	until := n.begun.Add(n.Duration - min(closing, n.Duration/10))
	r, err := n.rotate()
	if err != nil {
		return err
	}
	r.remaining, r.since = func() time.Duration { return time.Until(until) }, func() time.Duration { return time.Since(n.begun) }
	running, stop := context.WithDeadlineCause(ctx, until, errNightOver)
	defer stop()
	errs := make([]error, n.Jobs)
	var workers sync.WaitGroup
	for i := range errs {
		workers.Go(func() { errs[i] = r.work(running) })
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	n.totals.Seconds = time.Since(n.begun).Seconds()
	return errors.Join(append(errs, n.write(n.totals))...)
}

func (n *nightly) rotate() (r *rotation, err error) {
	r = &rotation{nightly: n, sets: [][]string{n.Faults}, file: filepath.Join(n.Out, stateFile), undone: map[int]bool{}}
	for _, d := range dense {
		r.sets = append(r.sets, d.kinds)
	}
	r.beyond = make([]lengthBeyond, len(r.sets))
	r.next, err = readPlace(r.file)
	return r, err
}

func (r *rotation) work(ctx context.Context) error {
	for {
		at, one := r.nextTurn()
		if one == nil || ctx.Err() != nil {
			return nil
		}
		begun := time.Now()
		err := r.run(ctx, one)
		if ctx.Err() != nil {
			return nil // within reports a signal
		}
		if err = errors.Join(err, r.done(at, time.Since(begun)-one.Duration)); err != nil {
			return err
		}
	}
}

// nextTurn returns the next run if it fits into the remaining time, else nil. A night's first run always fits.
func (r *rotation) nextTurn() (at int, one *chaosCmd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at = r.next
	round, backend := at/len(r.Backends), r.Backends[at%len(r.Backends)]
	set := round % len(r.sets)
	beyond := r.beyond[set].most
	if !r.beyond[set].known {
		beyond = beyondFirst
	}
	length := min(r.RunDuration, r.remaining()-beyond-beyondSpare)
	if length < 0 || r.since() >= r.MaxDuration {
		if begun := len(r.undone) > 0 || slices.ContainsFunc(r.beyond, func(b lengthBeyond) bool { return b.known }); begun {
			return at, nil
		}
		length = max(0, length)
	}
	r.next++
	r.undone[at] = true
	seed := r.Seed + uint64(round/len(r.sets))
	one = r.one(backend, seed, r.sets[set]...)
	one.Duration = length
	one.Out = filepath.Join(r.Out, fmt.Sprintf("%s-%d-%d", options.Replace(backend), seed, set+1))
	return at, one
}

func (r *rotation) done(at int, beyond time.Duration) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.undone, at)
	b := &r.beyond[at/len(r.Backends)%len(r.sets)]
	b.known, b.most = true, max(b.most, beyond)
	next := r.next
	for other := range r.undone {
		next = min(next, other)
	}
	text, err := json.Marshal(place{next})
	if err != nil {
		return err
	}
	return os.WriteFile(r.file, append(text, '\n'), 0o644)
}

// readPlace returns 0 without an earlier night.
func readPlace(file string) (int, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var p place
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err == nil && p.Next < 0 {
		err = fmt.Errorf("run %d", p.Next)
	}
	if err != nil {
		return 0, fmt.Errorf("%s does not say where the last night stopped; remove it to begin anew: %w", file, err)
	}
	return p.Next, nil
}
