package console

import (
	"os"
	"runtime/debug"
)

// gcPercent is what a loaded engine is tuned to: its live heap is small and its garbage is not, so that with Go's
// own 100 a third of the time would go into collecting.
const gcPercent = 400

// TuneGC has garbage collected for a loaded engine, unless the user has said how.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
