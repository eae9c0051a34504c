//go:build !linux

package load

import "time"

// nap sleeps for so long.
func nap(d time.Duration) { time.Sleep(d) }
