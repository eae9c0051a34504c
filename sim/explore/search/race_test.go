//go:build race

package search

import "pulley/internal/depth"

// seedsPlayed is how many seeds of each design are played. The race detector takes ten times as long and sees one goroutine.
var seedsPlayed = depth.Of[uint64](208, 2_000)
