//go:build !race

package ir

import "pulley/internal/depth"

// hostileBytes is half of the largest program at night.
var hostileBytes = depth.Of(1<<16, 1<<19)
