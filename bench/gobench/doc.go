// Package gobench reads results in Go's benchmark format, as go test -bench prints them, into series of values per
// benchmark and unit.
//
// The reading itself is that of golang.org/x/perf/benchfmt, so that units are tidied as in benchstat (ns/op becomes
// sec/op, MB/s becomes B/s), and "Unit" lines say which direction of a unit is better. What this package adds is the
// identity of a series: package, benchmark, number of processors and machine. Values of two machines never stand in one
// series, even where a file holds both.
//
// The format is https://golang.org/design/14313-benchmark-format.
package gobench
