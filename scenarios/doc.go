// Package scenarios holds workloads as data: a workflow, inputs, how actions behave, and what a right
// scheduler must come to. It runs nothing.
//
// # Files
//
// A scenario is a YAML file, and the program that it names. Those that ship are embedded (library/*.yaml) and known by their
// names; a person's own is known by its path, and works in the same places. [Find] gives either. All mistakes of a file
// are told at once, each with its place, before anything starts. [Help] lists the keys of a file.
//
// A text that begins with = is an expression of the workflow language (package template). It may read size and the
// parameters; in input also instance, the variant's number, and what was drawn; in expect also the inputs.
//
// # Workloads
//
// A Scenario makes a [Mix] of a given size: the workloads that instances run in turn. What the size counts is the scenario's
// own affair and stands in SizeMeans; to compare costs across scenarios, use Workload.Nodes, which always counts
// the same thing: node runs of actions. Inline nodes and barriers are not counted, since designs
// differ in what they make of them, and the retries of an action are not either.
//
// What is right is never found by running the engine: the reference interpreter runs the program with the same actions, without
// the time that they take, and a file's own expectation is compared with it; of a graph that was built in Go, such as a
// trace, it is computed. Where a file expects a result and a number of nodes, that is believed for sizes other than the
// smallest. An instance may be meant to fail, and may have several ends that are right.
//
// Every workload that ships is built so that the result depends on what a scheduler can get wrong: the order of a list, an
// element that is missing or counted twice, a step that ran before the one it needs.
//
// Building is pure: the same size and options give the same workloads. Whatever is random is drawn by the seed.
package scenarios
