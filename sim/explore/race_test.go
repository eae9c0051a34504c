//go:build race

package explore

// raced says that the tests run with the race detector.
const raced = true
