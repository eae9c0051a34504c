package measure

import (
	"runtime"
	"time"
)

// Burning measures and burns the processor time of one thread. It is for runs that are slowed down on purpose.
type Burning struct {
	began time.Duration // of the thread
	ok    bool          // the system tells a thread's time
	clock time.Time     // stands in for it
}

// StartBurning ties the goroutine to its thread until Stop.
func StartBurning() *Burning {
	runtime.LockOSThread()
	b := &Burning{clock: time.Now()}
	b.began, b.ok = ThreadTime()
	return b
}

// Burnt is the processor time of the thread since StartBurning; the time that passed where the system does not tell.
func (b *Burning) Burnt() time.Duration {
	if now, ok := ThreadTime(); ok && b.ok {
		return now - b.began
	}
	return time.Since(b.clock)
}

// Burn has the thread work until so much has been used since StartBurning.
func (b *Burning) Burn(total time.Duration) {
	for x := 1.0; x > 0 && b.Burnt() < total; {
		for range 1000 {
			x = x*1.0000001 + 1
		}
	}
}

// Stop lets go of the thread.
func (b *Burning) Stop() { runtime.UnlockOSThread() }
