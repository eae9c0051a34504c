package gate_test

import (
	"fmt"
	"os"
	"strings"

	"pulley/bench/gate"
	"pulley/bench/gobench"
)

// A check before a change compares two files of Go's benchmarks, and ends with a status that says what it found.
func ExampleJudge() {
	read := func(name string, times ...int) gate.Side {
		text := "goos: linux\ngoarch: amd64\ncpu: a CPU\npkg: example.com/queue\n"
		for _, ns := range times {
			text += fmt.Sprintf("BenchmarkPush-8 1000 %d ns/op\n", ns)
		}
		file, err := gobench.Read(strings.NewReader(text), name)
		if err != nil {
			fmt.Println(err)
			os.Exit(2)
		}
		return gate.FromBenchmarks(name, file)
	}
	report, err := gate.Judge(read("old.txt", 100, 101, 102, 103, 104, 105), read("new.txt", 120, 121, 122, 123, 124, 125), gate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Sentence)
	fmt.Println("exit status", report.Outcome.ExitCode())
	// Output:
	// Regression: example.com/queue.Push-8: sec/op is 1.2 times the baseline's [1.17, 1.23].
	// exit status 1
}
