//go:build !linux && !darwin

package measure

func cpuName() string { return "" }

func memoryBytes() int64 { return 0 }
