//go:build !linux && !darwin

package measure

func cpuName() string { return "" }

func memoryBytes() int64 { return 0 }

func residentReset() (bytes int64, ok bool) { return 0, false }

func residentPeak() int64 { return 0 }

func residentFiles() int64 { return 0 }
