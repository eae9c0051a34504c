package scenarios

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// fanout is one action, then many side by side, then one that joins them. The size counts all of
// them, so that a workflow of 500 nodes is what others call one of 500 nodes.
func fanout() Scenario {
	return Scenario{
		Name:         "fanout",
		Doc:          "one action makes a list, one runs per element side by side, one joins the results",
		SizeMeans:    "nodes, the first and the last included",
		DefaultSizes: []int{10, 50, 100, 500, 2000},
		SizeMin:      2,
		build:        buildFanout,
	}
}

func buildFanout(size int, opts Options) (Workload, error) {
	lim := opts.Limits.WithDefaults()
	width := size - 2
	if err := within("elements of one spread", width, lim.SpreadElements); err != nil {
		return Workload{}, err
	}
	// The longest value is the list of doubled numbers.
	if err := within("bytes of one value", listBytes(width, func(i int) int { return digits(2 * i) }), lim.ValueBytes); err != nil {
		return Workload{}, err
	}
	w, err := fromProgram("fanout", opts.Limits)
	w.Input = fmt.Appendf(nil, `{"width":%d}`, width)
	w.Expected = number(width * (width - 1)) // 2·0 + 2·1 + … + 2·(width−1)
	w.Nodes = size
	return w, err
}

// loop is three actions in a row, many times. The default 32 is the case for which others claim a
// number of operations.
func loop() Scenario {
	return Scenario{
		Name:         "loop",
		Doc:          "three actions in a row per iteration; each needs the one before",
		SizeMeans:    "iterations, of three nodes each",
		DefaultSizes: []int{8, 32, 128},
		SizeMin:      1,
		build:        buildLoop,
	}
}

func buildLoop(size int, opts Options) (Workload, error) {
	lim := opts.Limits.WithDefaults()
	if err := within("iterations of one loop", size, lim.LoopIterations); err != nil {
		return Workload{}, err
	}
	if err := within("bytes of one value", listBytes(size, digits), lim.ValueBytes); err != nil {
		return Workload{}, err
	}
	w, err := fromProgram("loop", opts.Limits)
	w.Input = fmt.Appendf(nil, `{"iterations":%d}`, size)
	w.Expected = number(size * size) // 1 + 3 + 5 + …
	w.Nodes = 3 * size
	return w, err
}

// number is a JSON number.
func number(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// digits is the length of a number that is not negative.
func digits(n int) int { return len(strconv.Itoa(n)) }

// listBytes is the length of a JSON list of n elements of given lengths.
func listBytes(n int, element func(i int) int) int {
	if n == 0 {
		return len("[]")
	}
	bytes := 1 + n // brackets and the commas between
	for i := range n {
		bytes += element(i)
	}
	return bytes
}
