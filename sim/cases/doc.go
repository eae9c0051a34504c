// Package cases has what simulated worlds are made from: programs with results that the reference interpreter knows, faults,
// planted bugs, and the case, drawn by a seed, that describes all of it.
//
// A [Workload] is a prepared program: compiled, with every end and every call that the interpreter allows. Programs come from the
// language's own generator. One in eight is a graph that the language cannot express, in which chains of actions race.
// SeedsPerProgram seeds share a program, because preparing one costs more than a world.
package cases
