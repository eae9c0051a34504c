//go:build race

package ir

import "pulley/internal/depth"

// hostileBytes is smaller than the largest program, since the race detector is slow.
var hostileBytes = depth.Of(1<<13, 1<<16)
