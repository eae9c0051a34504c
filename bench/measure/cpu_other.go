//go:build !linux

package measure

import "time"

func processTime(int) (time.Duration, bool) { return 0, false }

func parentOfServer(int) int { return 0 }

func serverTime(int) (time.Duration, bool) { return 0, false }

func machineTime() (time.Duration, bool) { return 0, false }
