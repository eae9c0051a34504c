// Command mutants plants bugs in the engine, one at a time, and shows that the checks that must find them do. A check that has
// never failed may be unable to.
//
//	make mutants
//	go run ./chaos/mutants --only river-1302
//	go run ./chaos/mutants --format json
//	go run ./chaos/mutants --tier test --for 20m --start 12
//	go run ./chaos/mutants --sim 10
//
// # A mutant
//
// A mutant is data: passages of files and their replacements, a description, the check that must catch the mutant, and the
// invariant that the check must name. Each passage occurs in its file exactly once, so that a mutant cannot outlive its code;
// an ordinary test checks that.
//
// The go command's -overlay builds the changed files, including embedded SQL. The real files are never written, and have
// neither hooks nor build tags for this.
//
// # A run
//
//  1. The check runs on the unchanged code, once for all mutants that share it. It must pass without the mutant's words.
//  2. The mutant is built. If it does not build, the table is wrong; that is no catch.
//  3. The check runs on the mutant. It must fail with the mutant's words: the invariant's number, or the test's message. Any
//     other failure means survival. Names of tests and stacks do not count.
//
// Bugs make tests hang. A test that has printed the words and does not end soon is killed with its process group. Only its
// server is outside that group; the server ends with the test (package pgserver).
//
// A check is a test, or a case of pulley chaos that must fail by the mutant's invariant. A chaos case may miss a bug by chance.
// It is therefore tried with several seeds, and the table names the seed that found the bug.
//
// The 43 mutants of 2026-11-23 were all caught, on two processors with --jobs 2: 38 by tests, 5 by chaos cases. Of the six in
// push's Go code that followed the day after, tests caught five and simulations all.
//
// A mutant's tier is test if its check is a test that runs before each change, and night if it is a chaos case. --tier selects
// a tier. --for bounds a run's time, and --start selects the first mutant, so that each night continues where the last one
// ended.
//
// # In simulations
//
// With --sim no check runs. The program is built with each mutant of the core and of push that simulations can reach, and
// pulley sim searches several times, with other seeds each time. All searches must find a violation of an invariant that the
// table names. The report has the median number of seeds.
//
// A mutant without visible effect is marked equivalent, with the reason, and does not run. The exit status is 1 if another
// mutant survives, and 2 if the table or the machine is at fault.
//
// # Bugs of other projects
//
// A mutant whose name begins with a project and a number is a bug reported there, planted in this engine. Its check is the
// regression scenario, which also runs with the other tests; --list prints the commands.
package main
