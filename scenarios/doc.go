// Package scenarios holds workloads as data: a workflow, an input, and the result that a right
// scheduler must give. It runs nothing.
//
// A Scenario builds a Workload of a given size. What the size counts is the scenario's own affair
// and stands in SizeMeans; to compare costs across scenarios, use Workload.Nodes, which always counts
// the same thing: node runs of actions. Inline nodes and barriers are not counted, since designs
// differ in what they make of them, and the retries of an action are not either.
//
// Expected is computed here from the scenario's own formula or by evaluating the arithmetic in a few
// lines of Go, never by running the engine. Every workload is built so that the result depends on what
// a scheduler can get wrong: the order of a list, an element that is missing or counted twice, a step
// that ran before the one it needs.
//
// Building is pure: the same size and options give the same workload. Traces are read by
// scenarios/wfformat and handed in.
package scenarios
