//go:build race

package ir

import "pulley/internal/depth"

// less: the race detector is slow
var hostileBytes = depth.Of(1<<13, 1<<16)
