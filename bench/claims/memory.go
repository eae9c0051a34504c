package claims

import (
	"context"
	"fmt"
	"strconv"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/reports/record"
)

const mebi = 1 << 20

// tasksInMemory measures the process while so many tasks execute at once: each is an instance's only action, and none returns
// before all have begun to wait.
func (l *lab) tasksInMemory(ctx context.Context, backend string, tasks int) (claim.Claim, error) {
	found, err := l.compare(ctx, "chain", []int{1}, []string{backend}, bench.CompareConfig{
		InFlight: tasks, Workers: tasks, MinNodes: tasks, HoldTransaction: true,
	})
	if err != nil {
		return claim.Claim{}, err
	}
	c := claim.Claim{Method: fmt.Sprintf("%d instances of one action, whose actions all wait until every instance is submitted; resident memory "+
		"of the process, with the harness in it, as the kernel counts it: at its peak, the same without the pages of the program's own file, and what it grew by during the run.", tasks)}
	c.Figures = []claim.Figure{
		claim.Figure{Name: backend + ", the whole process", Unit: "MiB"}.Measure(values(found, backend, 1, peak)),
		claim.Figure{Name: backend + ", without the program's code", Unit: "MiB"}.Measure(values(found, backend, 1, private)),
		claim.Figure{Name: backend + ", growth by the engine, its connections and the tasks", Unit: "MiB"}.Measure(values(found, backend, 1, grown)),
	}
	return c, nil
}

func rejudge(f claim.Figure, bound claim.Bound, claimed, tolerance float64) claim.Figure {
	f.Bound, f.Claimed, f.Tolerance = bound, claimed, tolerance
	if f.Median == nil {
		return f
	}
	return f.Interval(*f.Median, *f.Lo, *f.Hi, f.Runs)
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

// The published measurement's load: runs of tasks that are processes.
const (
	loadTasks  = 10
	loadAtOnce = 500
	loadSleep  = "50ms"
)

func processes(ctx context.Context, l *lab) ([]claim.Claim, error) {
	runs := l.pick(200, 1000)
	method := fmt.Sprintf("%s, built with the Go tool: a program of its own that embeds the engine, push and the executor of processes; %d runs of %d tasks, each a process that "+
		"sleeps for %s, %d at once.", processesPackage, runs, loadTasks, loadSleep, loadAtOnce)
	rate := claim.Figure{Name: push, Unit: "tasks/s", Bound: claim.AtLeast, Claimed: 155}
	later := claim.Figure{Name: push + ", of what a later document says", Unit: "tasks/s", Bound: claim.AtLeast, Claimed: 737}
	latency := claim.Figure{Name: push, Unit: "ms", Bound: claim.AtMost, Claimed: 700}
	held := claim.Figure{Name: push + ", the whole program", Unit: "MiB", Bound: claim.AtMost, Claimed: 12.5}
	claims := func(rate, later, latency, held claim.Figure) []claim.Claim {
		return []claim.Claim{
			{ID: "processes-throughput", Source: sourceTech + ", Measured performance", Text: "155 tasks/s, and 737 in a later document, are sustained where tasks are processes.", Method: method,
				Figures: []claim.Figure{rate, later}},
			{ID: "processes-latency", Source: sourceTech + ", Measured performance", Text: "From creating a task to its end takes less than 700 ms (p99), where tasks are processes.",
				Method:  method + " From when the engine receives a task, by the commit that made it, to when the commit of its completion is answered.",
				Figures: []claim.Figure{latency}, Why: "With so many at once, a rate of 500/0.7 s is needed for a mean of 700 ms (Little's law)"},
			{ID: "processes-memory", Source: sourceTech + ", Measured performance", Text: "500 concurrent tasks take about 10 MB of resident memory of the scheduler, where tasks are processes.",
				Method:  method + " The program's whole resident memory, code included, at its peak, without the processes.",
				Figures: []claim.Figure{held}, Why: "About is taken as no more than a quarter above. The published figure is of another language"},
		}
	}
	e, err := newEmbedder(ctx, l.cfg.DSN, processesPackage)
	if err != nil {
		why := err.Error()
		return claims(rate.Missing(why), later.Missing(why), latency.Missing(why), held.Missing(why)), nil
	}
	defer e.remove()
	var perS, p99s, peaks []float64
	for run := range l.runs {
		var got struct {
			Tasks     int     `json:"tasks"`
			PerS      float64 `json:"tasks_per_s"`
			P99MS     float64 `json:"p99_ms"`
			PeakBytes int64   `json:"peak_rss_bytes"`
		}
		if err := e.run(ctx, &got, "--runs", strconv.Itoa(runs), "--tasks", strconv.Itoa(loadTasks), "--at-once", strconv.Itoa(loadAtOnce), "--sleep", loadSleep); err != nil {
			return nil, fmt.Errorf("%s: %w", processesPackage, err)
		}
		if got.Tasks != runs*loadTasks {
			return nil, fmt.Errorf("%s: %d tasks ended, not %d", processesPackage, got.Tasks, runs*loadTasks)
		}
		perS, p99s = append(perS, got.PerS), append(p99s, got.P99MS)
		if got.PeakBytes > 0 {
			peaks = append(peaks, float64(got.PeakBytes)/mebi)
		}
		l.printf("run %d of %d: %.0f tasks/s, p99 %.0f ms", run+1, l.runs, got.PerS, got.P99MS)
	}
	if len(peaks) == 0 {
		held = held.Missing(errNoMemory.Error())
	} else {
		held = held.Measure(peaks)
	}
	return claims(rate.Measure(perS), later.Measure(perS), latency.Measure(p99s), held), nil
}
