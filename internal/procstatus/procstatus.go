// Package procstatus reads what the kernel says of this process's memory.
package procstatus

import (
	"os"
	"strconv"
	"strings"
)

// The fields of /proc/self/status that are of use; proc(5) defines them.
const (
	Resident      = "VmRSS"   // memory that is resident now
	ResidentPeak  = "VmHWM"   // the most of that since the process began, or since the peak was reset
	ResidentFiles = "RssFile" // pages of files in it
)

// Bytes gives a field, in bytes; zero where the kernel is not Linux, or does not tell.
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
