// Package differ holds a backend against the reference interpreter: it runs one [Case], a program with an
// input and a schedule, on a [Store], and says in which way what happened differs from what running the
// text line by line gives.
//
// # What is run
//
// The program's text is parsed and compiled as every other, and one instance of it is brought to its end
// over the backend's own contract: claims, completions, and what can go wrong with them. The [Schedule]
// says what does: completions are made in any order and in batches of any size, offered twice, given up
// with their lease, and, where the store can do that, cut off by a crash at any step of a call. All of it
// follows from the schedule's seed, so that a case gives the same run again.
//
// # What is compared
//
// The result, or the error with its type, its message, its action and its place. The action, path and arguments of every node run, as a multiset. Where the order of several failures leaves
// room, each of the outcomes that reference.Interpreter.Possible gives is right. The history of the run, as far
// as it can be seen from outside of the store, goes through the oracles of package oracle. Enqueues, counters and
// the elements of lists cannot be seen so. A node run that is enqueued twice is handed out twice (I1); a counter
// or a list that is wrong shows in what starts when (I5), and in what is received and returned (I4, I7).
//
// # Repeating a failure
//
// A case is saved with everything that it needs. [Load] and [Run] run it again, also when the generator
// that made it has changed. Those of bugs that were fixed are kept and run with the tests.
package differ
