package measure

import (
	"runtime/debug"

	"pulley/reports/record"
)

// Resident measures this process's memory until the returned function is called; that returns null if the system does not
// report it. Resident first returns free memory to the system.
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
