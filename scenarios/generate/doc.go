// Package generate writes workflows of a shape from a few parameters and a seed.
//
// A shape writes a program of the workflow language if possible, so that the reference interpreter and the checks of package
// chaos know the right result; any other graph is built in Go, with its result. The same shape, values and seed give the same
// workflow.
//
// Every workflow has one input, start, and its result depends on what a scheduler can get wrong: on every step and its
// arguments, and on the order and number of each list's elements. Steps are the action step unless another is named, which may
// have its own durations and failures.
package generate
