//go:build race

package explore

// seedsEachChange is how many seeds of each design are played before each change, with the race detector.
const seedsEachChange = 208
