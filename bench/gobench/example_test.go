package gobench_test

import (
	"fmt"
	"strings"

	"pulley/bench/gobench"
)

// A tool reads what go test -bench has printed.
func ExampleRead() {
	const output = `goos: linux
goarch: amd64
pkg: example.com/queue
Unit wakeups/op better=lower
BenchmarkPush/size=10-8    1000    2000 ns/op    3 wakeups/op
BenchmarkPush/size=10-8    1000    2500 ns/op    3 wakeups/op
PASS
`
	file, err := gobench.Read(strings.NewReader(output), "bench.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, series := range file.Series {
		fmt.Printf("%s: %.3g, less is better: %t\n", series.Key, series.Values, series.Better == gobench.BetterLower)
	}
	// Output:
	// example.com/queue.Push/size=10-8 sec/op: [2e-06 2.5e-06], less is better: true
	// example.com/queue.Push/size=10-8 wakeups/op: [3 3], less is better: true
}
