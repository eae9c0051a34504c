// Package generate writes workflows of a shape from a few parameters and a seed.
//
// A shape writes a program of the workflow language where the language can say it, so that the reference interpreter and
// the checks of package chaos know what is right; a graph that it cannot say is built in Go and comes with its result. The
// same shape, values and seed give the same workflow.
//
// Every workflow takes one input, start, and its result depends on what a scheduler can get wrong: on every step, on the
// arguments of each, and on the order and number of the elements of each list. Steps are the action step unless another
// is named, which may then be described, with service times and failures of its own.
package generate
