// Package shadow compares simulated statements with Postgres, in the tests of the simulated designs.
//
// A world has a Postgres as its shadow, which executes each statement of the simulated server in the same order and with the same
// clock. Functions of the schema replace clock_timestamp and nextval, the latter so that a statement that continues by itself
// draws no number before the world lets it. Each statement must return the same rows, count or error. If it waits for the lock of
// a transaction that is stopped before its commit, it must wait on both servers. Broken connections and crashes must have the
// same effects, and committed rows and notifications must be equal. Tests plant a changed row in every table, and bugs in
// simulated statements, to show that they are noticed.
//
// A world ends early where Postgres leaves the result to chance: which of two waiters that were woken together is first, and
// whether a woken one reads the clock before it jumps. The tests log how many did.
package shadow
