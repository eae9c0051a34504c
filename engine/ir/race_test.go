//go:build race

package ir

import "pulley/internal/depth"

// The race detector is slow, so hostileBytes is less than without it.
var hostileBytes = depth.Of(1<<13, 1<<16)
