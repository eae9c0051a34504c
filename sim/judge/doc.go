// Package judge checks what happens in a simulated world against the invariants.
//
// Statements leave notes in their transactions. At each commit, a model of each instance concerned applies the plans: those that
// the design notes (push, eager), or its own (journal, pull). The model uses maps, without locks, transactions or batches. It
// compares the values that were read with its own (I4, I6); it checks arrivals and enqueues (I1, I2), tokens and attempts (I3,
// I11), continuations (I2) and ends (I7). The design's own package then compares its tables with the model.
//
// The judge compares action calls and ends with the reference interpreter (I4, I7), what engines receive with what was committed
// (I3, I8), and who runs a task until when (I11). A lease that its own transaction has cancelled must not be handed out (I10).
//
// A transaction that began before another one ended its instance may commit later. A sweep removes what it adds.
package judge
