package explore

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"pulley/engine/ir/programs"
	"pulley/scenarios"
)

// Backends lists the designs that can be searched.
func Backends() []string { return []string{"push", "eager", "journal", "pull", "pull:scan=sql"} }

// Search is what is to be searched.
type Search struct {
	Backend string
	Bug     string // that is planted; empty: none
	From    uint64
	To      uint64         // inclusive
	Workers int            // zero: as many as there are processors
	Mix     *scenarios.Mix // instead of random programs, its workloads in turn; nil: those
	Twice   bool           // every seed is run twice, and the hashes compared (I13)

	Progress func(Progress) // every second; nil: nobody
}

// Progress is how far a search is.
type Progress struct {
	Counts  *Counts
	Elapsed time.Duration
}

// Found is what a search came to.
type Found struct {
	Backend string
	Counts  Counts
	Elapsed time.Duration
	Bad     *Case    // the case of the least seed with a violation; nil: there was none
	Why     []string // its violations
}

// Do searches, and stops at a violation: of several that were found side by side, the least seed's is given.
func (s Search) Do(ctx context.Context) (*Found, error) {
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	h := &hunt{Search: s, next: s.From / SeedsPerProgram, found: &Found{Backend: s.Backend}, begun: time.Now()}
	var all sync.WaitGroup
	for range s.Workers {
		all.Go(func() { h.work(ctx) })
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		case <-ticker.C:
			h.progress()
		}
	}
	h.found.Elapsed = time.Since(h.begun)
	if h.err == nil {
		h.err = ctx.Err()
	}
	return h.found, h.err
}

// hunt is a search under way.
type hunt struct {
	Search
	mu    sync.Mutex
	next  uint64 // the next program
	found *Found
	err   error
	over  bool
	begun time.Time
}

func (h *hunt) progress() {
	if h.Progress == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Progress(Progress{Counts: &h.found.Counts, Elapsed: time.Since(h.begun)})
}

// work takes one program after the other, with its seeds.
func (h *hunt) work(ctx context.Context) {
	for ctx.Err() == nil {
		h.mu.Lock()
		number, over := h.next, h.over
		h.next++
		h.mu.Unlock()
		if over || number > h.To/SeedsPerProgram {
			return
		}
		var counts Counts
		bad, why, err := h.program(number, &counts)
		h.mu.Lock()
		h.found.Counts.Add(&counts)
		if err != nil && h.err == nil {
			h.err, h.over = err, true
		}
		if bad != nil {
			h.over = true
			if h.found.Bad == nil || bad.Seed < h.found.Bad.Seed {
				h.found.Bad, h.found.Why = bad, why
			}
		}
		h.mu.Unlock()
	}
}

// program plays the seeds of one program, up to one with a violation.
func (h *hunt) program(number uint64, counts *Counts) (*Case, []string, error) {
	var d drawn
	defer func() {
		if d.load != nil {
			d.load.rest()
		}
	}()
	counts.Programs++
	for seed := max(h.From, number*SeedsPerProgram); seed <= min(h.To, number*SeedsPerProgram+SeedsPerProgram-1); seed++ {
		load, err := h.load(&d, seed)
		if err != nil {
			return nil, nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		load.again = true
		c := draw(seed, h.Backend, load)
		c.Bug = h.Bug
		r := run(c, load, nil)
		counts.Add(&r.Counts)
		counts.Seeds++
		counts.Steps += r.Steps
		counts.Virtual += int64(r.Virtual)
		if h.Twice && len(r.Violations) == 0 {
			if again := run(c, load, nil); again.Hash != r.Hash {
				r.Violations = append(r.Violations, fmt.Sprintf("I13: the trace's hash is %s, and then %s", r.Hash, again.Hash))
			}
		}
		if len(r.Violations) > 0 {
			return &c, r.Violations, nil
		}
	}
	return nil, nil, nil
}

// load gives a seed's workload.
func (h *hunt) load(d *drawn, seed uint64) (*workload, error) {
	if h.Mix == nil {
		return d.workload(seed, h.Backend)
	}
	if d.load == nil {
		w := h.Mix.Of(int(seed / SeedsPerProgram % uint64(len(h.Mix.Order))))
		var err error
		if d.load, err = prepare(Case{Program: programs.Program{Source: w.Source, Input: w.Input}, Scenario: w.Bundle}); err != nil {
			return nil, err
		}
	}
	return d.load, nil
}
