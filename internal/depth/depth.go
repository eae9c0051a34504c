// Package depth says how deep tests go: as deep as every change needs, or as deep as a night allows.
//
// Tests have two sizes. Before a change goes in, each test does as much as its claim needs. At night, the same tests
// do many times as much. [Variable] chooses between them; whoever sets it, nothing is skipped.
package depth

import "os"

// Variable is the environment variable that makes tests deep when its value is "night".
const Variable = "PULLEY_TEST_DEPTH"

// Night says whether tests are to go as deep as a night allows.
func Night() bool { return os.Getenv(Variable) == "night" }

// Of gives the size of a test: everyChange in the tests that run before each change, night in those of the night.
func Of[T any](everyChange, night T) T {
	if Night() {
		return night
	}
	return everyChange
}
