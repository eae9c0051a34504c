package measure

import (
	"runtime"
	"time"
)

// Burning measures and burns a thread's processor time, for deliberately slowed runs.
type Burning struct {
	began time.Duration
	ok    bool      // the system reports thread time
	clock time.Time // used if it does not
}

// StartBurning locks the goroutine to its thread until Stop.
func StartBurning() *Burning {
	runtime.LockOSThread()
	b := &Burning{clock: time.Now()}
	b.began, b.ok = ThreadTime()
	return b
}

// Burnt is the thread's processor time since StartBurning, or the elapsed time if the system does not report it.
func (b *Burning) Burnt() time.Duration {
	if now, ok := ThreadTime(); ok && b.ok {
		return now - b.began
	}
	return time.Since(b.clock)
}

// Burn works until total has been used since StartBurning.
func (b *Burning) Burn(total time.Duration) {
	for x := 1.0; x > 0 && b.Burnt() < total; {
		for range 1000 {
			x = x*1.0000001 + 1
		}
	}
}

// Stop releases the thread.
func (b *Burning) Stop() { runtime.UnlockOSThread() }
