package scenarios

import (
	"encoding/json"
	"fmt"

	"pulley/scenarios/wfformat"
)

const traceName = "trace"

// trace is a recorded workflow, or one that is generated to look like it.
func trace() Scenario {
	return Scenario{
		Name:         traceName,
		Doc:          "a recorded task graph in WfFormat, every dependency a hard edge; generated where no file is given",
		SizeMeans:    "tasks; 0 for all of a given trace",
		DefaultSizes: []int{60, 240},
		build:        buildTrace,
	}
}

func buildTrace(size int, opts Options) (Workload, error) {
	w := Workload{Name: traceName, Size: size}
	t := opts.Trace
	switch {
	case t == nil:
		var err error
		if t, err = wfformat.Generate(opts.Shape, size, opts.Seed); err != nil {
			return Workload{}, err
		}
	case size != 0 && size != len(t.Tasks):
		return Workload{}, fmt.Errorf("the trace %q has %d tasks; leave the size out", t.Label(), len(t.Tasks))
	default:
		w.Name, w.Size = traceName+":"+t.Label(), len(t.Tasks)
	}
	g, err := t.Graph(wfformat.GraphOptions{TimeScale: opts.TimeScale, Limits: opts.Limits})
	if err != nil {
		return Workload{}, err
	}
	w.Graph, w.Warnings = g, t.Warnings
	w.Input = json.RawMessage("{}")
	w.Expected = t.Expected()
	w.Nodes = len(t.Tasks)
	return w, nil
}
