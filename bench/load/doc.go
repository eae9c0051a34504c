// Package load offers requests at the times that an arrival process intends, whatever the system under load does, and judges
// the results.
//
// # Time
//
// A request has an intended time from the arrival process; the generator sends it, and it ends when its result is there.
// Latency counts from the intended time. A system that stalls for a second delays all requests of that second, but a generator
// that waited for it would have sent, and measured, only one. (Tene, How NOT to Measure Latency, 2015: "coordinated omission".)
// Service time, which counts from sending, is recorded as well.
//
// # A run
//
// A run has three phases. During the warm-up, of bounded length, latencies become steady; [WarmUpEnd] finds its end. All
// requests intended between that and the end of the arrivals are measured. During the drain none arrives, and open ones may
// end.
//
// The generator never waits: [Pacer] determines which requests are due, and [Drive] sends them. The number in flight is
// bounded: a request that is due beyond it is dropped and counted; percentiles treat it as never ended.
//
// # The verdict
//
// [Analyze] reports whether a run can decide anything, by its [Limits].
//
// Everything but Drive and [SystemClock] takes times as arguments and performs no actions.
package load
