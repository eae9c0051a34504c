// Package wfformat reads and writes workflow traces in WfFormat, the JSON format of the WfCommons project, and converts a trace
// to an executable workflow.
//
// # What is read
//
// Version 1.5 has tasks in workflow.specification.tasks and their run times in workflow.execution.tasks, and names a task by
// its id. Versions 1.0 to 1.4 have everything in workflow.tasks (workflow.jobs before 1.3) and name a task by its name. The
// content determines the layout, not the claimed version. Unneeded members, such as commands and machines, are skipped; a null
// member counts as absent.
//
// Parents and children of a task may be given on one side or on both. An edge that only one side names, in a file that gives
// both, counts, with a warning. A mistake that would change what is run (an unknown task, a duplicate id, a cycle, a negative
// run time) is an *Error with its position; then no trace is returned.
//
// # What is run
//
// Graph makes an action node of each task, and a hard edge of each dependency. The action, ActionTask, waits for the task's run
// time, times a scale, and returns TaskValue: a number that depends on the task's id and on its parents' values in order. So
// the values of the last tasks depend on every edge: a scheduler that starts a task too early, drops a parent or confuses their
// order gives another result than Expected, which is computed without any scheduler.
//
// Generate makes traces of common real shapes from a seed. Parse inverts Write.
package wfformat
