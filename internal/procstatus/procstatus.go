// Package procstatus reads this process's memory from the kernel.
package procstatus

import (
	"os"
	"strconv"
	"strings"
)

// Fields of /proc/self/status; see proc(5).
const (
	Resident      = "VmRSS"
	ResidentPeak  = "VmHWM"   // its peak since the start, or the last reset
	ResidentFiles = "RssFile" // file pages in it
)

// Bytes returns a field in bytes; zero if unknown, or not on Linux.
func Bytes(field string) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name != field {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0
		}
		return kib << 10
	}
	return 0
}
