// Package workload turns scenarios into workloads of the adapter protocol: graphs of tasks, for systems that pulley did not
// write. It has no I/O, no clock and no goroutine of its own.
//
// # How
//
// [Of] runs one instance of a compiled workflow once, with the core and the plainest store (packages plan and model), in
// virtual time, with as many slots as it needs, and with the scenario's own actions, which return at once. Each node run of an
// action becomes a task. A task needs the tasks whose completions made it ready: the one behind a node without a counter, and
// all that arrived behind a barrier. So inline nodes and barriers vanish, loops are unrolled, spreads have a task for each
// element, and of a branch there is the way that this input takes. A graph in which several tasks lead nowhere gets one more
// task, which needs them all: its value is the instance's.
//
// A task's add is a hash of its name, so that a missing or doubled task changes the instance's sum, except for one case in a
// thousand million. Its time is that of the scenario's service law, drawn with the seed, or that of the trace's task as scaled.
// Its least length is that of its result if the scenario describes payloads. Attempts that fail by the scenario's seed and are
// retried become fails.
//
// # What is refused
//
// A [Refused] error names the workload, and what no graph of tasks expresses: sleeps, timeouts, failures that are caught or
// that end the instance, tasks that may still be at work when the instance ends, or that are cancelled; and graphs that no line
// of the protocol holds.
//
// # What is different
//
// [Graph].Notes names what a graph leaves out without a change of its tasks: the limit of a spread, and soft groups. The core
// never gives a value that depends on a soft group's first arrival, so that only time depends on it; the task then needs the
// one that arrived first.
package workload
