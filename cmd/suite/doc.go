// Command suite runs this project's own tests, in tiers.
//
//   - check: format, vet, lint, and every test that needs neither Postgres nor a second process.
//   - test: every package, on one Postgres, with the race detector.
//   - nightly: all that is deep, for as long as the caller says.
//
// flakes runs the tests again and again, half of the times on a machine with other work, and tells which were not green
// every time.
//
// # Who ends what
//
// Every command that suite starts has a process group of its own, directories for what it writes for a while (one of them in memory, where the machine has enough), and a mark in its
// environment, which its children inherit. At the first signal suite passes SIGINT on to the group, waits, and then kills it.
// In the end, whatever happened, suite waits until no process with the mark is left, kills what does not
// end by itself, unmounts what is mounted below the directories, and removes them.
package main
