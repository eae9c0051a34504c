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

// errNightOver ends what is under way when the time of a night of chaos is over.
var errNightOver = errors.New("the time is over")

// rotation is the endless order of runs of nights with a budget: every scheduler has a run with one set of kinds, then every one
// with the next set, and then all of that with the next seed. Each night goes on in it where the one before has stopped.
type rotation struct {
	*nightly
	sets      [][]string
	file      string               // in which the next night finds its place
	remaining func() time.Duration // of the night
	since     func() time.Duration // its begin

	mu     sync.Mutex
	next   int            // the first run that nobody has begun
	undone map[int]bool   // begun, and not done
	beyond []lengthBeyond // by set
}

// lengthBeyond is what a run of a set takes beside the time in which things go wrong, at most.
type lengthBeyond struct {
	known bool
	most  time.Duration
}

// beyondFirst is about that before any run of a set has shown it, and beyondSpare is left in any case. What is under way at the
// end has closing to remove what it has made, or less of a short night.
const (
	beyondFirst = time.Minute
	beyondSpare = 5 * time.Second
	closing     = 5 * time.Second
)

// place is what the file holds between nights.
type place struct {
	Next int `json:"next"` // the run of the rotation at which the next night begins
}

// stateFile is the file's name.
const stateFile = "state.json"

// within runs the rotation until the time is over. What is under way then counts for nothing, and is what the next night begins
// with.
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

// rotate makes the rotation, at the place where the last night has stopped.
func (n *nightly) rotate() (r *rotation, err error) {
	r = &rotation{nightly: n, sets: [][]string{n.Faults}, file: filepath.Join(n.Out, stateFile), undone: map[int]bool{}}
	for _, d := range dense {
		r.sets = append(r.sets, d.kinds)
	}
	r.beyond = make([]lengthBeyond, len(r.sets))
	r.next, err = readPlace(r.file)
	return r, err
}

// work makes one run after the other, until no other fits.
func (r *rotation) work(ctx context.Context) error {
	for {
		at, one := r.nextTurn()
		if one == nil || ctx.Err() != nil {
			return nil
		}
		begun := time.Now()
		err := r.run(ctx, one)
		if ctx.Err() != nil {
			return nil // within tells of a signal
		}
		if err = errors.Join(err, r.done(at, time.Since(begun)-one.Duration)); err != nil {
			return err
		}
	}
}

// nextTurn gives the next run, as long as what is left of the time allows it to be; nil: the time is over. Whatever the time, there is
// a first one.
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

// done notes that a run is, and what it took beside its length, and writes down where the next night begins.
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

// readPlace reads at which run a night begins: the first, where there was none before.
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
