// Package shadow holds simulated statements against Postgres, for the tests of those who have them.
//
// A world has a Postgres as its shadow, on which each statement is made that the simulated server makes, in the same order, on a clock
// that says the same (a function of the schema takes the place of clock_timestamp, and another that of nextval, so that what goes on by
// itself draws no number before the world comes to that). It must give the same rows, count or error; where a transaction is held up
// before its commit and another waits for its lock, that waits there, too; connections that break and servers that crash take the
// same with them; and all rows that are committed, and what those are told who listen, must be the same. A row that is
// changed behind the back of the simulated server is noticed in every table, and so is a bug in a simulated statement. A world ends early where it comes to what Postgres leaves to chance: which of two that were woken together goes first,
// and whether who was woken reads the clock before it jumps. How many did is told with what was played.
package shadow
