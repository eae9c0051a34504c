// Package capacity measures what a design can take: the knee of a scenario, which is the highest arrival rate at which its
// latency objectives hold, and how its throughput changes with workers or connections.
//
// Packages knee and usl decide; this package drives the system under load, which is a function, so that tests can use a
// simulated queue.
//
// # A search for a knee
//
// Closed loops come first: with one instance in flight, then with more until that is no faster, which gives the first rate.
// Without a given objective, closed loops with numbers in between look for half of that rate, and the objective is that p99
// stays below three times its value there. Open runs follow at rates that package knee chooses.
//
// Finally medians of three runs check the knee. Latencies at 80 % of it are compared with those of a closed loop of the same
// throughput. At 120 % the system should be overloaded: its backlog grows, or the objective breaks. If the objective holds at
// 120 %, the runs that broke below it were disturbed, and the search continues.
//
// All this takes about the allowed time: a run begins only if there is time for it, and time for the check is reserved.
package capacity
