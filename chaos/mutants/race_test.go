//go:build race

package main

// raced is true under the race detector: the tests' builds then use its build cache.
const raced = true
