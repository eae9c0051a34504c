//go:build race

package main

// raced says that the tests run with the race detector: what they build has what it needs in the cache then.
const raced = true
