// Command mutants plants bugs in the engine, one at a time, and shows that what must find them does. A check
// that has never failed may be one that cannot.
//
//	make mutants
//	go run ./chaos/mutants --only river-1302
//	go run ./chaos/mutants --format json
//	go run ./chaos/mutants --tier test --for 20m --start 12
//	go run ./chaos/mutants --sim 10
//
// # A mutant
//
// It is data: files with a passage that is replaced by another, what that amounts to, the check that must catch
// it, and the invariant by which. Each passage must stand in its file exactly once, so that a mutant cannot
// outlive the code that it is about; an ordinary test holds all of them to that.
//
// The go command's -overlay builds the changed files in the place of the real ones, SQL that is embedded among
// them. Nothing of this is in the sources that are built otherwise: there are no hooks, no tags, nothing to be
// switched off. The files themselves are never written.
//
// # A run
//
//  1. Its check is run on the code as it is, once for all mutants that it is the check of, and must pass: what fails
//     anyway catches nothing. Nor may it say there what the mutant has it say.
//  2. The mutant is built. One that does not build is an error of the table, not a catch.
//  3. The check is run on it, and must fail, and say what the mutant says it must: the invariant's number or the words
//     of the test about it. To fail in another way is to survive. Names of tests and stacks say nothing.
//
// A test that has said its words, and does not end soon, is ended: bugs make tests hang. Its process group is
// killed then, in which everything is that it started but its server; that ends with it (package pgserver).
//
// A check is a test of a package, or a case of pulley chaos, which must come out as fail by the mutant's
// invariant. Cases with processes, faults and real moments may miss a bug by chance: they have a number of
// seeds, and the table says which of them found it.
//
// The 43 that there were on 2026-11-23 were all caught, on two processors with --jobs 2: 38 by tests, 5 by chaos cases. Of the six
// in push's Go code that came the day after, tests caught five, and simulations all.
//
// Each mutant has a tier: test, where its check is a test that runs before each change, and runs here as it does there; night,
// where it is a chaos case. --tier chooses one. --for has a run end in time, and --start begin at some mutant: whoever has half an
// hour each night is told where to go on.
//
// # In simulations
//
// With --sim no check is run. The program is built with each mutant of the core, and of push, that simulations can see, and pulley sim
// searches several times, each time in seeds of its own. All searches must come to a violation of one of the invariants
// that the table names; the median of the seeds that they took is told.
//
// A mutant that changes nothing that can be seen is marked equivalent, with the reason; it is not run. The exit
// status is 1 where another survives, and 2 where the table or the machine is at fault.
//
// # Bugs that others had
//
// A mutant whose name begins with a project and a number is a bug that was reported there, brought to this
// engine. Its check is the regression scenario: unmutated it runs with the other tests, and --list gives the
// command of each.
package main
