package claims

import (
	"context"
	"fmt"

	"pulley/bench"
	"pulley/reports/record"
)

const mebi = 1 << 20

// tasksInMemory measures the process while so many tasks execute at once: each is an instance's only action, and none returns
// before all have begun to wait.
func (l *lab) tasksInMemory(ctx context.Context, backend string, tasks int) (Claim, error) {
	found, err := l.compare(ctx, "chain", []int{1}, []string{backend}, bench.CompareConfig{
		InFlight: tasks, Workers: tasks, MinNodes: tasks, HoldTransaction: true,
	})
	if err != nil {
		return Claim{}, err
	}
	c := Claim{Method: fmt.Sprintf("%d instances of one action, whose actions all wait until every instance is submitted; resident memory "+
		"of the process, with the harness in it, as the kernel counts it: at its peak, the same without the pages of the program's own file, and what it grew by during the run.", tasks)}
	c.Figures = []Figure{
		Figure{Name: backend + ", the whole process", Unit: "MiB"}.measure(values(found, backend, 1, peak)),
		Figure{Name: backend + ", without the program's code", Unit: "MiB"}.measure(values(found, backend, 1, private)),
		Figure{Name: backend + ", growth by the engine, its connections and the tasks", Unit: "MiB"}.measure(values(found, backend, 1, grown)),
	}
	return c, nil
}

func rejudge(f Figure, bound Bound, claimed, tolerance float64) Figure {
	f.Bound, f.Claimed, f.Tolerance = bound, claimed, tolerance
	if f.Median == nil {
		return f
	}
	return f.interval(*f.Median, *f.Lo, *f.Hi, f.Runs)
}

func peak(s *record.Sample) (float64, bool) {
	if s.Memory == nil {
		return 0, false
	}
	return float64(s.Memory.PeakBytes) / mebi, true
}

// private is the memory without the program's file pages.
func private(s *record.Sample) (float64, bool) {
	if s.Memory == nil {
		return 0, false
	}
	return float64(s.Memory.PeakBytes-s.Memory.FileBytes) / mebi, true
}

func grown(s *record.Sample) (float64, bool) {
	if s.Memory == nil {
		return 0, false
	}
	return float64(s.Memory.PeakBytes-s.Memory.StartBytes) / mebi, true
}
