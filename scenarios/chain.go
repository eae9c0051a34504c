package scenarios

import (
	"fmt"
	"strings"
)

// chain is actions in a row without a loop: as many nodes in the graph as in a run. It shows the cost
// of a sequential hop and nothing else.
func chain() Scenario {
	return Scenario{
		Name:         "chain",
		Doc:          "actions in a row, each with the result of the one before: the cost of a hop",
		SizeMeans:    "nodes",
		DefaultSizes: []int{10, 50, 200},
		SizeMin:      1,
		build:        buildChain,
	}
}

// chainModulus keeps the numbers small.
const chainModulus = 1_000_003

func buildChain(size int, opts Options) (Workload, error) {
	const start = 7
	if err := within("nodes", size, opts.Limits.WithDefaults().Nodes); err != nil {
		return Workload{}, err
	}
	source := chainSource(size)
	g, err := compile("chain", source, opts.Limits)
	if err != nil {
		return Workload{}, err
	}
	// Tripling before each step makes the order of the steps count.
	value := start
	for step := 1; step <= size; step++ {
		value = value*3%chainModulus + step
	}
	return Workload{
		Graph: g, Source: source, Nodes: size,
		Input:    fmt.Appendf(nil, `{"start":%d}`, start),
		Expected: number(value),
	}, nil
}

// chainSource writes the program of a chain, a line for each step.
func chainSource(size int) string {
	var b strings.Builder
	b.WriteString("fn main(input: [start], output: [value]):\n    value = start\n")
	for step := 1; step <= size; step++ {
		fmt.Fprintf(&b, "    value = @add(a=value * 3 %% %d, b=%d)\n", chainModulus, step)
	}
	b.WriteString("    return value\n")
	return b.String()
}
