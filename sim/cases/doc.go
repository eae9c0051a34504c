// Package cases has what simulated worlds are made from: programs, whose results the reference interpreter knows; the faults that
// befall them; the bugs that can be planted; and the case, drawn by a seed, in which all of that is written down.
//
// A [Workload] is a program made ready: compiled, with every end and every call that the interpreter gives it. Programs are drawn from
// those that the language is tested with, and one in eight is a graph that the language has no words for, in which chains of
// actions race. SeedsPerProgram seeds share one, since making it ready costs more than a world.
package cases
