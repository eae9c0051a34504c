package measure

import "golang.org/x/sys/unix"

func cpuName() string {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}

func memoryBytes() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}

func residentReset() (bytes int64, ok bool) { return 0, false }

func residentPeak() int64 { return 0 }

func residentFiles() int64 { return 0 }
