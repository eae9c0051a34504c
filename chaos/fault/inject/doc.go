// Package inject injects faults into runs, of engines of ours or of systems behind adapters.
//
// # A plan
//
// [Injector.Inject] applies one fault of a plan. A fault whose moment does not come is tried again. So is one that is to fail
// statements, and none of whose SQLSTATEs reached an engine. [Shrink] leaves faults out of a plan while what it shows remains.
//
// # Every message
//
// [Rehearse] makes all kinds of transactions happen. The messages seen until then are the baseline, to each of which
// [Injector.Visit] goes with exhaustive faults.
package inject
