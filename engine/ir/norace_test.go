//go:build !race

package ir

import "pulley/internal/depth"

// half of the largest program at night
var hostileBytes = depth.Of(1<<16, 1<<19)
