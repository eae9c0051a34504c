package recovery

import (
	"context"
	"sync"
	"time"

	"pulley/engine/oracle"
	"pulley/internal/pause"
)

const (
	stallBeat  = 10 * time.Millisecond // between two looks at the clock
	stallLeast = 40 * time.Millisecond // by which a look is late where the machine has no time for the run
	slowPart   = 20                    // one part in so many without time for the run makes a machine slow
)

// stall is a time in which the machine had none for the run: it was busy with something else, or stood still.
type stall struct {
	from, to int64 // on oracle.MachineClock
}

// Stalls are those of a run, in order.
type Stalls struct {
	mu  sync.Mutex
	all []stall
}

// Watch notes stalls until ctx ends.
func (s *Stalls) Watch(ctx context.Context) {
	last := oracle.MachineClock()
	for range pause.Ticks(ctx, stallBeat) {
		last = s.beat(last, oracle.MachineClock())
	}
}

// beat takes a look at the clock, and gives its time.
func (s *Stalls) beat(last, now int64) int64 {
	if due := last + int64(stallBeat); now-due >= int64(stallLeast) {
		s.Add(due, now)
	}
	return now
}

// Add notes one.
func (s *Stalls) Add(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, stall{from, to})
}

// Within is how long the machine had no time for the run in a time.
func (s *Stalls) Within(from, to int64) (ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		ns += max(0, min(to, one.to)-max(from, one.from))
	}
	return ns
}

// Slow says whether the machine had so little time for the run in a time that what it waited for may only be late.
func (s *Stalls) Slow(from, to int64) bool { return slowPart*s.Within(from, to) > to-from }
