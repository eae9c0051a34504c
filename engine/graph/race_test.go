//go:build race

package graph_test

// raced reports that the tests run with the race detector.
const raced = true
