package claims

import (
	"context"
	"fmt"
	"strconv"
)

// The published measurement's load: runs of tasks that are processes.
const (
	loadTasks  = 10
	loadAtOnce = 500
	loadSleep  = "50ms"
)

func processes(ctx context.Context, l *lab) ([]Claim, error) {
	runs := l.pick(200, 1000)
	method := fmt.Sprintf("%s, built with the Go tool: a program of its own that embeds the engine, push and the executor of processes; %d runs of %d tasks, each a process that "+
		"sleeps for %s, %d at once.", processesPackage, runs, loadTasks, loadSleep, loadAtOnce)
	rate := Figure{Name: push, Unit: "tasks/s", Bound: AtLeast, Claimed: 155}
	later := Figure{Name: push + ", of what a later document says", Unit: "tasks/s", Bound: AtLeast, Claimed: 737}
	latency := Figure{Name: push, Unit: "ms", Bound: AtMax, Claimed: 700}
	held := Figure{Name: push + ", the whole program", Unit: "MiB", Bound: AtMax, Claimed: 12.5}
	claims := func(rate, later, latency, held Figure) []Claim {
		return []Claim{
			{ID: "processes-throughput", Source: sourceTech + ", Measured performance", Text: "155 tasks/s, and 737 in a later document, are sustained where tasks are processes.", Method: method,
				Figures: []Figure{rate, later}},
			{ID: "processes-latency", Source: sourceTech + ", Measured performance", Text: "From creating a task to its end takes less than 700 ms (p99), where tasks are processes.",
				Method:  method + " From when the engine receives a task, by the commit that made it, to when the commit of its completion is answered.",
				Figures: []Figure{latency}, Why: "With so many at once, a rate of 500/0.7 s is needed for a mean of 700 ms (Little's law)"},
			{ID: "processes-memory", Source: sourceTech + ", Measured performance", Text: "500 concurrent tasks take about 10 MB of resident memory of the scheduler, where tasks are processes.",
				Method:  method + " The program's whole resident memory, code included, at its peak, without the processes.",
				Figures: []Figure{held}, Why: "About is taken as no more than a quarter above. The published figure is of another language"},
		}
	}
	e, err := newEmbedder(ctx, l.cfg.DSN, processesPackage)
	if err != nil {
		why := err.Error()
		return claims(rate.missing(why), later.missing(why), latency.missing(why), held.missing(why)), nil
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
		held = held.missing(errNoMemory.Error())
	} else {
		held = held.measure(peaks)
	}
	return claims(rate.measure(perS), later.measure(perS), latency.measure(p99s), held), nil
}
