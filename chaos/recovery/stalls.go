package recovery

import (
	"context"
	"sync"
	"time"

	"pulley/engine/oracle"
	"pulley/internal/pause"
)

const (
	stallBeat  = 10 * time.Millisecond // interval between two readings of the clock
	stallLeast = 40 * time.Millisecond // a reading that late is a stall
	slowPart   = 20                    // a machine is slow if it stalls for one part in so many
)

// stall is a time in which the machine did not run the process: it was busy or suspended.
type stall struct {
	from, to int64 // on oracle.MachineClock
}

// Stalls are the stalls of a run, in order.
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

// beat notes a late reading of the clock and returns it.
func (s *Stalls) beat(last, now int64) int64 {
	if due := last + int64(stallBeat); now-due >= int64(stallLeast) {
		s.Add(due, now)
	}
	return now
}

// Add notes a stall.
func (s *Stalls) Add(from, to int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, stall{from, to})
}

// Within returns for how many ns the machine stalled within a time.
func (s *Stalls) Within(from, to int64) (ns int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.all {
		ns += max(0, min(to, one.to)-max(from, one.from))
	}
	return ns
}

// Slow reports whether the machine stalled so long within a time that what is missing may only be late.
func (s *Stalls) Slow(from, to int64) bool { return slowPart*s.Within(from, to) > to-from }
