package simulate

import (
	"fmt"
	"strings"
	"time"

	"pulley/bench/stats"
	"pulley/engine/backend"
	"pulley/internal/plural"
	"pulley/reports/record"
	"pulley/sim"
)

// Forecast summarizes the runs of a simulation. A figure is the median over the runs, with an interval.
type Forecast struct {
	record.Forecast

	got []*sim.Forecast
}

// add drops the run's schedule, which may be large.
func (f *Forecast) add(got *sim.Forecast) {
	if len(f.got) == 0 {
		f.Attempts = len(got.Schedule)
		for _, inst := range got.Instances {
			if inst.Status == backend.Completed {
				f.Completed++
			}
		}
	}
	few := *got
	few.Result = &sim.Result{
		Makespan: got.Makespan, Utilisation: got.Utilisation, InSystem: got.InSystem, InQueue: got.InQueue, Waiting: got.Waiting, Latency: got.Latency,
	}
	if n := len(got.Instances); n > 1 {
		few.Instances = got.Instances[n-1:] // the last to arrive
	}
	f.got = append(f.got, &few)
}

func (f *Forecast) sum() {
	f.Runs, f.Warnings = len(f.got), []string{}
	of := func(value func(*sim.Forecast) float64) record.Spread {
		var values []float64
		for _, g := range f.got {
			values = append(values, value(g))
		}
		i := stats.MedianInterval(values, stats.Confidence)
		f.Confidence = i.Confidence
		return record.Spread{Median: i.Median, Lo: i.Lo, Hi: i.Hi}
	}
	ms := func(value func(*sim.Forecast) time.Duration) record.Spread {
		return of(func(g *sim.Forecast) float64 { return float64(value(g)) / float64(time.Millisecond) })
	}
	spread := func(p func(*sim.Forecast) sim.Percentiles) record.ForecastTimes {
		return record.ForecastTimes{
			Mean: ms(func(g *sim.Forecast) time.Duration { return p(g).Mean }),
			P50:  ms(func(g *sim.Forecast) time.Duration { return p(g).P50 }),
			P90:  ms(func(g *sim.Forecast) time.Duration { return p(g).P90 }),
			P99:  ms(func(g *sim.Forecast) time.Duration { return p(g).P99 }),
			Max:  ms(func(g *sim.Forecast) time.Duration { return p(g).Max }),
		}
	}
	f.MakespanMS = ms(func(g *sim.Forecast) time.Duration { return g.Makespan })
	f.WorkMS = ms(func(g *sim.Forecast) time.Duration { return g.Work })
	f.Utilisation = of(func(g *sim.Forecast) float64 { return g.Utilisation })
	f.SpeedUp = of(func(g *sim.Forecast) float64 { return g.SpeedUp })
	f.InSystem = of(func(g *sim.Forecast) float64 { return g.InSystem })
	f.InQueue = of(func(g *sim.Forecast) float64 { return g.InQueue })
	f.Waiting = spread(func(g *sim.Forecast) sim.Percentiles { return g.Waiting })
	f.Latencies = spread(func(g *sim.Forecast) sim.Percentiles { return g.Latency })
	f.Bounds.AreaMS = ms(func(g *sim.Forecast) time.Duration { return g.Work / time.Duration(f.Workers) })
	f.Bounds.LowerMS = ms(func(g *sim.Forecast) time.Duration { return g.Bounds.Lower })
	path, upper := true, true
	for _, g := range f.got {
		path, upper = path && g.Bounds.CriticalPath > 0, upper && g.Bounds.Upper > 0
	}
	if path {
		v := ms(func(g *sim.Forecast) time.Duration { return g.Bounds.CriticalPath })
		f.Bounds.CriticalPathMS = &v
	}
	if upper {
		v := ms(func(g *sim.Forecast) time.Duration { return g.Bounds.Upper })
		f.Bounds.UpperMS = &v
	}
	f.warn()
}

func (f *Forecast) warn() {
	for _, g := range f.got {
		if g.Unbounded != "" {
			f.Warnings = append(f.Warnings, g.Unbounded)
			break
		}
	}
	if f.Runs < 6 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%s: intervals are their range; six or more give 95 %%", plural.Of(f.Runs, "run")))
	}
	if failed := f.Instances - f.Completed; failed > 0 {
		f.Warnings = append(f.Warnings, fmt.Sprintf("%d of %s failed in the first run", failed, plural.Of(f.Instances, "instance")))
	}
	if n := len(f.got[0].Instances); f.Arrivals != "" && n > 0 {
		last := f.got[0].Instances[n-1].Arrived
		if load := f.got[0].Work.Seconds() / float64(f.Workers) / last.Seconds(); last > 0 && load >= 1 {
			f.Warnings = append(f.Warnings, fmt.Sprintf("work comes %.3g times as fast as the workers do it: the queue grows as long as instances come, and waiting depends on --instances", load))
		}
	}
}

func (f *Forecast) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s, service %s", f.Scenario, plural.Of(f.Workers, "worker"), strings.Join(f.Service, " "))
	if f.Arrivals != "" {
		fmt.Fprintf(&b, ", arrivals %s", f.Arrivals)
	}
	if f.Latency != "" {
		fmt.Fprintf(&b, ", calls %s", f.Latency)
	}
	fmt.Fprintf(&b, "\n%s, %s, %s from seed %d on\n\n", plural.Of(f.Instances, "instance"), plural.Of(f.Attempts, "attempt"), plural.Of(f.Runs, "run"), f.Seed)
	span := func(v float64) string { return brief(time.Duration(v * float64(time.Millisecond))) }
	plain := func(v float64) string { return fmt.Sprintf("%.4g", v) }
	row := func(what string, v record.Spread, unit func(float64) string, note string) {
		line := fmt.Sprintf("%-32s %10s  %-24s %s", what, unit(v.Median), fmt.Sprintf("[%s, %s]", unit(v.Lo), unit(v.Hi)), note)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&b, "%-32s %10s  %s\n", "", "median", fmt.Sprintf("[interval, %.3g %%]", 100*f.Confidence))
	row("makespan", f.MakespanMS, span, "")
	if f.Bounds.CriticalPathMS != nil {
		row("  critical path", *f.Bounds.CriticalPathMS, span, "of an instance, with unlimited workers")
	}
	row("  work / workers", f.Bounds.AreaMS, span, "if no worker is ever idle")
	row("  no schedule is shorter", f.Bounds.LowerMS, span, "")
	if f.Bounds.UpperMS != nil {
		row("  no greedy one is longer", *f.Bounds.UpperMS, span, "")
	}
	row("utilisation", f.Utilisation, func(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }, "")
	row("speed-up", f.SpeedUp, func(v float64) string { return fmt.Sprintf("%.4g×", v) }, "work / makespan")
	row("instances in the system", f.InSystem, plain, "on an average")
	row("attempts in the queue", f.InQueue, plain, "on an average")
	for _, s := range []struct {
		what string
		record.ForecastTimes
	}{{"waiting for a worker", f.Waiting}, {"instance, from its arrival", f.Latencies}} {
		if s.ForecastTimes == f.Latencies && f.Instances == 1 {
			continue // that is the makespan
		}
		row(s.what+", mean", s.Mean, span, "")
		row("  p50", s.P50, span, "")
		row("  p90", s.P90, span, "")
		row("  p99", s.P99, span, "")
		row("  longest", s.Max, span, "")
	}
	f.writeMeasured(&b)
	for _, w := range f.Warnings {
		fmt.Fprintf(&b, "note: %s\n", w)
	}
	return b.String()
}

// writeMeasured sets what a server did beside what was foretold.
func (f *Forecast) writeMeasured(b *strings.Builder) {
	if f.Measured == nil {
		return
	}
	fmt.Fprintf(b, "\nmeasured in %s\n", f.Measured.Dir)
	for _, m := range f.Measured.Rows {
		for _, q := range []struct {
			name      string
			simulated record.Spread
			measured  *float64
		}{{"p50", f.Latencies.P50, m.P50MS}, {"p90", f.Latencies.P90, m.P90MS}, {"p99", f.Latencies.P99, m.P99MS}} {
			if q.measured == nil {
				continue
			}
			ratio := ""
			if q.simulated.Median > 0 {
				ratio = fmt.Sprintf("%.3g× the simulated", *q.measured/q.simulated.Median)
			}
			fmt.Fprintf(b, "%-32s %10s  %s\n", m.Name+", "+q.name, brief(time.Duration(*q.measured*float64(time.Millisecond))), ratio)
		}
	}
	for _, text := range f.Measured.Differs {
		fmt.Fprintf(b, "note: %s\n", text)
	}
}

func brief(d time.Duration) string {
	step := time.Duration(1)
	for d/step >= 10_000 {
		step *= 10
	}
	return d.Round(step).String()
}
