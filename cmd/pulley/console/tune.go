package console

import (
	"os"
	"runtime/debug"
)

// gcPercent suits a loaded engine. Its live heap is small: with Go's default of 100, collection would use a third of the time.
const gcPercent = 400

// TuneGC tunes garbage collection for a loaded engine, unless GOGC is set.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
