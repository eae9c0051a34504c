// Package gobench reads results in Go's benchmark format, as go test -bench prints them, into series of values per benchmark
// and unit.
//
// golang.org/x/perf/benchfmt does the parsing, so units are normalized as in benchstat (ns/op becomes sec/op, MB/s becomes
// B/s), and "Unit" lines give a unit's better direction. This package adds the identity of a series: package, benchmark, number
// of processors and machine. A series never mixes machines, even if a file does.
//
// The format is https://golang.org/design/14313-benchmark-format.
package gobench
