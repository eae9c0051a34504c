// Package scenarios holds workloads as data: a workflow, inputs, the behaviour of actions, and the right result. It runs
// nothing.
//
// # Files
//
// A scenario is a YAML file with the program that it names. Scenarios that ship are embedded (library/*.yaml) and known by
// name; a user's own is known by its path. [Find] returns either. All mistakes of a file are reported at once, with their
// positions, before anything starts. [Help] lists the keys of a file.
//
// A text that begins with = is an expression of the workflow language (package template). It may read size and the parameters;
// in input also instance, the variant's number, and draws; in expect also the inputs.
//
// # Workloads
//
// A Scenario makes a [Mix] of a given size: the workloads that instances run in turn. Each scenario defines its size in
// SizeMeans. To compare costs across scenarios, use Workload.Nodes: it counts node runs of actions, without retries, and
// without inline nodes and barriers, which designs treat differently.
//
// The right result never comes from running the engine. The reference interpreter runs the program with the same actions,
// instantly, and a file's own expectation is compared with it; for a graph built in Go, such as a trace, it is computed. If a
// file expects a result and a number of nodes, these are believed for sizes other than the smallest. An instance may be
// expected to fail, and may have several right ends.
//
// The result of every shipped workload depends on what a scheduler can get wrong: the order of a list, an element that is
// missing or counted twice, a step that ran before the one it needs.
//
// Building is pure: the same size and options give the same workloads. The seed determines all draws.
package scenarios
