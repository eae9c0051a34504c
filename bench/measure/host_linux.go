package measure

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// cpuName is the processor's name; empty on machines whose kernel does not tell, as on many ARM ones.
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
