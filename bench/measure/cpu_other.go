//go:build !linux

package measure

import "time"

func processTime() (time.Duration, bool) { return 0, false }

// ThreadTime is the processor time of the thread that calls it; ok is false where the system does not tell, as here.
func ThreadTime() (used time.Duration, ok bool) { return 0, false }

func parentOfServer(int) int { return 0 }

func serverTime(int) (time.Duration, bool) { return 0, false }

func machineTime() (time.Duration, bool) { return 0, false }
