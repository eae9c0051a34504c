// Package judge holds what happens in a simulated world against the invariants.
//
// Statements leave notes in their transactions, and at each commit a model of each instance that is concerned obeys them:
// plans on maps, without locks, transactions or batches: those that the design says it has made, or, of the journal and of pull,
// plans of its own. It holds the values that were read against its own (I4, I6), counts arrivals and enqueues (I1, I2), tokens and
// attempts (I3, I11), what goes on and what must (I2), ends (I7); and then the design's tables are held against it, row by row,
// in the package of that design. What actions are called with and how instances end is held against the reference interpreter (I4,
// I7); what engines are told, against what was committed (I3, I8); who runs what and until when, against each other (I11). A lease
// that its own transaction has cancelled may not be handed out (I10).
//
// A transaction that has begun before another ended its instance may still be committed after that; what it adds is
// swept.
package judge
