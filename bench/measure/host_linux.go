package measure

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"pulley/internal/procstatus"
)

// cpuName is empty if the kernel does not report it, as on many ARM machines.
func cpuName() string { return procField("/proc/cpuinfo", "model name") }

func memoryBytes() int64 {
	kib, err := strconv.ParseInt(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}

// procField returns the first value of a "name : value" file.
func procField(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// residentReset resets the kernel's peak and returns the current value; ok is false if that fails.
func residentReset() (bytes int64, ok bool) {
	const forgetPeak = "5"
	if err := os.WriteFile("/proc/self/clear_refs", []byte(forgetPeak), 0); err != nil {
		return 0, false
	}
	return procstatus.Bytes(procstatus.Resident), true
}

func residentPeak() int64 { return procstatus.Bytes(procstatus.ResidentPeak) }

func residentFiles() int64 { return procstatus.Bytes(procstatus.ResidentFiles) }
