//go:build !race

package graph_test

// raced reports that the tests run without the race detector.
const raced = false
