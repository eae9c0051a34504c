package measure

import (
	"runtime/debug"

	"pulley/reports/record"
)

// Resident measures how much memory this process holds, from now until the function that it gives is called; that
// gives null where the system does not tell. What earlier work left behind is handed back to the system first.
func Resident() func() *record.Memory {
	debug.FreeOSMemory()
	start, ok := residentReset()
	return func() *record.Memory {
		peak := residentPeak()
		if !ok || peak < start {
			return nil
		}
		return &record.Memory{StartBytes: start, PeakBytes: peak, FileBytes: residentFiles()}
	}
}
