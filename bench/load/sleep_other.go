//go:build !linux

package load

import "time"

// sleep sleeps for so long.
func sleep(d time.Duration) { time.Sleep(d) }
