//go:build !race

package explore

// raced says that the tests run with the race detector; they do not.
const raced = false
