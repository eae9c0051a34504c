//go:build race

package ir

// hostileBytes is smaller than the largest program, since the race detector makes everything slow.
const hostileBytes = 1 << 16
