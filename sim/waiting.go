package sim

import (
	"time"

	"pulley/engine/backend"
)

// readiness is since when, or from when on, an attempt can be started.
type readiness struct {
	at     time.Duration
	counts bool // for the law of the queue: it was ready when that was known
}

// becomes notes since when, or from when on, an attempt can be started.
func (w *world) becomes(key backend.Key, at time.Duration) {
	w.leaves(key)
	w.ready[key] = readiness{at, at == w.now}
	if at == w.now {
		w.waiting.enter(w.now)
	}
}

// leaves ends the waiting of an attempt, if it waits.
func (w *world) leaves(key backend.Key) {
	r, ok := w.ready[key]
	if !ok {
		return
	}
	delete(w.ready, key)
	if r.counts {
		w.waiting.leave(w.now, r.at)
	}
}

// waited takes the time from readiness to the first start of an attempt, and gives the time of readiness.
func (w *world) waited(key backend.Key) time.Duration {
	r, ok := w.ready[key]
	if !ok {
		return w.now // delivered again after its lease was lost: it was ready all the time
	}
	w.leaves(key)
	w.result.waits = append(w.result.waits, max(0, w.now-r.at))
	return min(r.at, w.now)
}

// little holds the world against Little's law.
func (w *world) little() {
	for _, l := range []struct {
		what string
		*level
	}{{"instances", &w.present}, {"waiting attempts", &w.waiting}, {"running attempts", &w.running}} {
		if !l.lawful() {
			w.violate("Little's law does not hold for %s: %d are left, the area is %v, and they spent %v", l.what, l.n, l.area, l.spent)
		}
	}
}
