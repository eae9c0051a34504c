//go:build race

package main

// raced reports whether the tests run with the race detector, whose build cache their own builds can then use.
const raced = true
