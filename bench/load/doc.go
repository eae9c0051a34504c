// Package load offers requests at the times that an arrival process intends, whatever the system under load does, and judges
// what came of them.
//
// # Time
//
// A request has an intended time, from the arrival process; it is sent when the generator hands it over, and ends when its
// result is there. Its latency counts from the intended time: a system that stands still for a second delays all that
// would have come within that second, and a generator that waited for it would have sent, and measured, one of them.
// (Tene, How NOT to Measure Latency, 2015: "coordinated omission".) Service time counts from the sending, and stands
// beside it.
//
// # A run
//
// A run has three phases. In the warm-up, which has a longest time, latencies settle; [WarmUpEnd] finds where that ended.
// All requests intended between that and the end of the arrivals are measured. In the drain none arrives, and those that
// are open may end.
//
// The generator never waits: [Pacer] says which requests are due, and [Drive] hands them over. Those in flight are bounded.
// A request that is due when so many are there is dropped and counted; to percentiles it counts as one that never
// ended.
//
// # The verdict
//
// [Analyze] says whether a run can decide anything. See [Limits] for what is held against what.
//
// The package decides and does not act: all of it but Drive and [SystemClock] takes times as arguments.
package load
