// Package race runs the same workloads on several systems in turn, on one Postgres, and makes one record and a table.
//
// # A run
//
// A run is one workload on one system, in new databases that are dropped afterwards. The system is set up and opened anew; a
// tenth of the instances, at most as many as may be in flight, run first as a warm-up; then the others are started, a bounded
// number at once, and timed from the first submission to the last end. The result and the tasks of every instance are checked:
// otherwise the run is invalid and decides nothing.
//
// # How much is run
//
// Systems differ in speed by a factor of a thousand, so each is first tried in rounds with ever more instances at once, until
// that is no faster. That rate determines the number of instances for a run of the intended length. A system too slow to end
// the intended number in flight in three times that length runs with fewer, but at least with those of its fastest round; the
// record has the number.
//
// # Order
//
// For every workload the systems take turns, alternately in the given order and in the opposite one (ABBA), so that a drift of
// the machine affects all alike.
//
// # Costs
//
// Commits and WAL are the server's counts, taken when no session of the run is left, over the system's whole lifetime: start,
// warm-up, run and stop, divided by all tasks that ran.
package race
