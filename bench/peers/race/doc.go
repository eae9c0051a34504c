// Package race runs the same workloads on several systems in turn, on one Postgres, and says what came of
// it: one record, and a table.
//
// # A run
//
// A run is one workload on one system, in databases made for it alone and dropped afterwards. The system
// sets itself up and is opened anew; a tenth of the instances, at most as many as may be in flight, run
// first to warm it up; then the others are begun, so many at once, and timed from the first submission
// to the last end. The result of every instance is checked, and that every task of it ran: otherwise
// the run is invalid and decides nothing.
//
// # How much is run
//
// Systems differ in speed by a factor of a thousand, so each is first tried out, in rounds with ever more
// instances at once, until that does not make it faster. From that rate follows how many instances make a
// run of the length that was asked for. A system too slow to end as many as should be in flight in three
// times that length runs with fewer in flight, though not with fewer than it was fastest with; the record
// says how many there were.
//
// # Order
//
// For every workload the systems take turns, in the order given and then in the opposite one (ABBA), so
// that a drift of the machine meets all of them alike.
//
// # Costs
//
// Commits and WAL are the server's own counts, taken when no session of the run is left, over the whole
// life of the system: start, warm-up, run and stop, divided by all tasks that ran.
package race
