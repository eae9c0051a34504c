package scenarios

import "fmt"

// pipeline is the workflow with which push scheduling was first explained: a fan-out, then a loop over
// chunks of its results, then one action that takes all.
func pipeline() Scenario {
	return Scenario{
		Name:         "pipeline",
		Doc:          "a fan-out, a loop of two actions over chunks of its results, and a final action",
		SizeMeans:    "elements of the fan-out",
		DefaultSizes: []int{8, 64, 256},
		build:        buildPipeline,
	}
}

func buildPipeline(size int, opts Options) (Workload, error) {
	lim := opts.Limits.WithDefaults()
	if err := within("elements of one spread", size, lim.SpreadElements); err != nil {
		return Workload{}, err
	}
	if err := within("iterations of one loop", opts.LoopIters, lim.LoopIterations); err != nil {
		return Workload{}, err
	}
	// The longest values are the list of processed items and that of the chunks' results.
	processed := func(i int) int { return len(fmt.Sprintf(`{"id":%d,"hash":"hash_%d","score":%d}`, i, i, 10*i)) }
	chunk := func(i int) int {
		return len(fmt.Sprintf(`{"chunk_id":%d,"total":%d,"digest":"chunk_%d"}`, i, pipelineTotal(size, opts.LoopIters), i))
	}
	longest := max(listBytes(size, processed), listBytes(opts.LoopIters, chunk))
	if err := within("bytes of one value", longest, lim.ValueBytes); err != nil {
		return Workload{}, err
	}
	w, err := fromProgram("pipeline", opts.Limits)
	w.Input = fmt.Appendf(nil, `{"fan_out":%d,"loop_iters":%d}`, size, opts.LoopIters)
	w.Expected = number(pipelineTotal(size, opts.LoopIters))
	w.Nodes = 1 + size + 2*opts.LoopIters + 1
	return w, err
}

// pipelineTotal is the sum of the scores of all chunks but the first. An item's score is ten times
// its number, and a chunk in which one is not above zero does not count: that is the one with item 0.
// Items that are left over when all chunks have the same size are in no chunk.
func pipelineTotal(items, chunks int) int {
	size := items / chunks
	end := size * chunks
	sum := func(n int) int { return n * (n - 1) / 2 } // 0 + 1 + … + (n−1)
	return 10 * (sum(end) - sum(size))
}
