//go:build !linux

package pgwire

import "time"

func sleepUntil(due time.Time) { time.Sleep(time.Until(due)) }
