// Package search plays worlds of package explore, seed by seed, until one violates an invariant, and shrinks its case.
package search

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"pulley/scenarios"
	"pulley/sim/cases"
	"pulley/sim/explore"
	"pulley/sim/world"
)

// Search describes a search.
type Search struct {
	Backend string
	Bug     string // planted; empty: none
	From    uint64
	To      uint64         // inclusive
	Workers int            // zero: one for each processor
	Mix     *scenarios.Mix // its workloads in turn; nil: random programs
	Twice   bool           // plays every seed twice and compares the hashes (I13)

	Progress func(*explore.Coverage) // called every second; nil: not at all
}

// Found is the result of a search.
type Found struct {
	explore.Coverage
	Bad *cases.Case // the case of the least seed with a violation; nil: none
	Why []string
}

// Do searches until a violation. If several are found concurrently, it returns the least seed's.
func (s Search) Do(ctx context.Context) (*Found, error) {
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	h := &running{Search: s, next: s.From / cases.SeedsPerProgram, found: &Found{Coverage: explore.Coverage{Backend: s.Backend}}, begun: time.Now()}
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

type running struct {
	Search
	mu     sync.Mutex
	next   uint64
	found  *Found
	err    error
	isOver bool
	begun  time.Time
}

func (h *running) progress() {
	if h.Progress == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found.Elapsed = time.Since(h.begun)
	h.Progress(&h.found.Coverage)
}

func (h *running) work(ctx context.Context) {
	d := explore.Drawing{Backend: h.Backend, Mix: h.Mix}
	defer d.Close()
	for ctx.Err() == nil {
		h.mu.Lock()
		number, over := h.next, h.isOver
		h.next++
		h.mu.Unlock()
		if over || number > h.To/cases.SeedsPerProgram {
			return
		}
		var counts world.Counts
		bad, why, err := h.program(&d, number, &counts)
		h.mu.Lock()
		h.found.Counts.Add(&counts)
		if err != nil && h.err == nil {
			h.err, h.isOver = err, true
		}
		if bad != nil {
			h.isOver = true
			if h.found.Bad == nil || bad.Seed < h.found.Bad.Seed {
				h.found.Bad, h.found.Why = bad, why
			}
		}
		h.mu.Unlock()
	}
}

func (h *running) program(d *explore.Drawing, number uint64, counts *world.Counts) (*cases.Case, []string, error) {
	counts.Programs++
	for seed := max(h.From, number*cases.SeedsPerProgram); seed <= min(h.To, number*cases.SeedsPerProgram+cases.SeedsPerProgram-1); seed++ {
		c, load, err := d.Case(seed)
		if err != nil {
			return nil, nil, fmt.Errorf("seed %d: %w", seed, err)
		}
		c.Bug = h.Bug
		r := load.Play(c)
		counts.Add(&r.Counts)
		counts.Seeds++
		counts.Steps += r.Steps
		counts.Virtual += int64(r.Virtual)
		if h.Twice && len(r.Violations) == 0 {
			if again := load.Play(c); again.Hash != r.Hash {
				r.Violations = append(r.Violations, fmt.Sprintf("I13: the trace's hash is %s, and then %s", r.Hash, again.Hash))
			}
		}
		if len(r.Violations) > 0 {
			return &c, r.Violations, nil
		}
	}
	return nil, nil, nil
}
