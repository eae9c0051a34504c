// Package capacity measures what a design can take: the knee of a scenario, which is the highest rate of arrivals at which its
// latency objectives hold, and how its throughput changes with workers or connections.
//
// It drives; packages knee and usl decide. What is put under load is a function, so that tests can put a simulated queue in its place.
//
// # A search for a knee
//
// Closed loops come first: with one instance in flight, and with more and more until that is no faster, which gives the rate to
// begin with. Where no objective is given, closed loops with numbers in between look for half of that rate, and the
// objective is that p99 stays below three times what it is there. Then open runs are made at rates that package knee asks for. In
// the end, the knee is held against what it should mean, by the median of three runs each: at 80 % of it latencies are compared with
// those of a closed loop that does as much, and at 120 % it should be overload: the backlog grows, or the objective breaks. Where
// it holds, the runs that broke below it were disturbed, and the search goes on.
//
// All this takes no longer than was allowed, about: a run is begun only where there is time for it, and time for the check is kept.
package capacity
