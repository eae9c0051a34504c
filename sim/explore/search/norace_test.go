//go:build !race

package search

import "pulley/internal/depth"

// seedsPlayed is how many seeds of each design are played.
var seedsPlayed = depth.Of[uint64](320, 20_000)
