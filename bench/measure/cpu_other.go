//go:build !linux

package measure

import "time"

func processTime() (time.Duration, bool) { return 0, false }

// ThreadTime returns false: this system does not report thread time.
func ThreadTime() (used time.Duration, ok bool) { return 0, false }

func parentOfServer(int) int { return 0 }

func serverTime(int) (time.Duration, bool) { return 0, false }

func machineTime() (time.Duration, bool) { return 0, false }
