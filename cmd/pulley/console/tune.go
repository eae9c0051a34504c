package console

import (
	"os"
	"runtime/debug"
)

// gcPercent suits a loaded engine: its live heap is small and its garbage is not, so that with Go's default of 100 garbage
// collection would use a third of the time.
const gcPercent = 400

// TuneGC tunes garbage collection for a loaded engine, unless GOGC is set.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
