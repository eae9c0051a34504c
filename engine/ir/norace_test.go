//go:build !race

package ir

// hostileBytes is half of the largest program.
const hostileBytes = 1 << 19
