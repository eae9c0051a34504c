package sim

import (
	"time"

	"pulley/engine/backend"
)

// readiness is when an attempt can be started, in the past or future.
type readiness struct {
	at     time.Duration
	counts bool // for Little's law: it was known at that moment
}

func (w *world) becomes(key backend.Key, at time.Duration) {
	w.leaves(key)
	w.ready[key] = readiness{at, at == w.now}
	if at == w.now {
		w.waiting.enter(w.now)
	}
}

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

// waited records how long an attempt waited for its first start, and returns when it was ready.
func (w *world) waited(key backend.Key) time.Duration {
	r, ok := w.ready[key]
	if !ok {
		return w.now // redelivered after its lease was lost
	}
	w.leaves(key)
	w.result.waits = append(w.result.waits, max(0, w.now-r.at))
	return min(r.at, w.now)
}

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
