package pgtest

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks fails the test if goroutines that begin after this call outlive it and the cleanups that it registers later. Sessions
// that those close may have a goroutine until then: pgx begins one that reads while a busy machine makes a write slow.
func VerifyNoLeaks(t testing.TB) {
	t.Helper()
	DSN(t) // begins a server's goroutines before they are counted
	known := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, known) })
}
