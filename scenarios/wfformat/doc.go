// Package wfformat reads and writes workflow traces in WfFormat, the JSON format of the WfCommons
// project, and turns a trace into a workflow that can be run.
//
// # What is read
//
// Version 1.5 keeps tasks in workflow.specification.tasks and their run times in
// workflow.execution.tasks, and names a task by its id. Versions 1.0 to 1.4 keep everything in
// workflow.tasks (workflow.jobs before 1.3) and name a task by its name. Both layouts are told apart
// by what the file holds, not by the version it claims. Members that pulley has no use for, such as
// commands and machines, are passed over; a member that is null is as good as absent.
//
// The parents and the children of a task may be given on one side or on both. An edge that only one
// side names, in a file that gives both, counts, and a warning says so. A mistake that would change
// what is run (an unknown task, an id that stands twice, a cycle, a negative run time) is an *Error
// with the place in the file; no part of such a trace is returned.
//
// # What is run
//
// Graph makes one action node of each task, and one hard edge of each dependency. The action is
// ActionTask. It waits for the task's run time, times a scale, and returns TaskValue: a number that
// depends on the task's id and on the values of all its parents in order. So the values of the last
// tasks depend on every edge: a scheduler that starts a task too early, drops a parent or mixes up
// their order gives another result than Expected, which is computed here, without any scheduler.
//
// Generate makes traces of the shapes that are common among the real ones, from a seed. Write and
// Parse are inverse: what was written reads back equal.
package wfformat
