package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/claim"
	"pulley/bench/load"
	"pulley/bench/systems"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
	"pulley/scenarios/arrivals"
)

// offered are the rates for which Hatchet's page has times, but the lowest.
var offered = []string{"500", "2000"}

// peerRuns measures times at given rates, and not how much can be done.
func peerRuns(ctx context.Context, l *lab) ([]claim.Claim, error) {
	beds, err := l.testbeds()
	if err != nil {
		return nil, err
	}
	found := at{map[string][]float64{}, map[string][]float64{}, map[string]string{}, map[string]string{}}
	for run := range l.runs {
		if run%2 == 1 {
			slices.Reverse(beds)
		}
		for i := range beds {
			if err := l.offer(ctx, &beds[i], run, found); err != nil {
				return nil, err
			}
		}
	}
	c := peerClaim("hatchet-runs", oneStep+", due at constant intervals, whether earlier ones have ended or not; the time from when an instance is due to its result. "+l.door())
	for _, name := range pushed() {
		c.Figures = append(c.Figures, found.figures(name+", embedded")...)
	}
	for _, of := range l.cfg.Systems {
		if isOurs(of) {
			c.Figures = append(c.Figures, found.figures(of.Name+", "+adapter)...)
		}
	}
	ours := slices.Clone(c.Figures)
	out := []claim.Claim{l.withPeer(c, func(of systems.System) []claim.Figure { return found.figures(of.Name + ", " + adapter) })}
	for _, of := range l.cfg.Systems {
		if !isOurs(of) && of.Hello.Name != c.Published.System {
			out = append(out, unpublished(of, "runs", c.Method, append(slices.Clone(ours), found.figures(of.Name+", "+adapter)...)))
		}
	}
	return out, nil
}

// at is what was found by system and rate: mean times in ms, ends a second where it could not keep up, and what else went wrong.
type at struct {
	means, ended map[string][]float64
	wrong, with  map[string]string // with: what a system ran with
}

func (a *at) figures(name string) (out []claim.Figure) {
	for _, r := range offered {
		key := name + " " + r
		mean := claim.Figure{Name: fmt.Sprintf("%s, mean time at %s runs/s", name, claim.Grouped(r)), Unit: "ms"}
		switch {
		case len(a.means[key]) > 0:
			mean.Note = a.with[name]
			mean = mean.Measure(a.means[key])
		case len(a.ended[key]) > 0:
			mean = claim.Figure{Name: fmt.Sprintf("%s, ended a second of %s", name, claim.Grouped(r)), Unit: "runs/s", Note: strings.TrimPrefix(a.with[name]+", it could not keep up, and has no mean time", ", ")}.Measure(a.ended[key])
		default:
			mean = mean.Missing(a.wrong[key])
		}
		out = append(out, mean)
	}
	return out
}

// rated is a system at rates.
type rated struct {
	name string
	spec bench.TestbedSpec
}

func (l *lab) testbeds() (beds []rated, err error) {
	cases, err := bench.Cases(bench.CaseOptions{Scenarios: []string{fmt.Sprintf("%s=%d", oneStepScenario, oneStepSize)}})
	if err != nil {
		return nil, err
	}
	for _, name := range pushed() {
		spec, err := designs.Parse(name)
		if err != nil {
			return nil, err
		}
		beds = append(beds, rated{name + ", embedded", bench.TestbedSpec{Case: cases[0], Backend: spec, DSN: l.cfg.DSN, Way: l.cfg.Way}})
	}
	for _, of := range l.cfg.Systems {
		beds = append(beds, rated{of.Name + ", " + adapter, bench.TestbedSpec{Case: cases[0], System: &of, DSN: l.cfg.DSN, Way: l.cfg.Way}})
	}
	return beds, nil
}

// offer puts each rate on a system once. Before its first run, it searches for what makes the system fastest. What another's system
// does wrong is noted, and costs only its figures.
func (l *lab) offer(ctx context.Context, b *rated, run int, all at) error {
	err := l.offerAll(ctx, b, run, all)
	if err == nil || b.spec.System == nil || ctx.Err() != nil {
		return err
	}
	for _, r := range offered {
		all.wrong[b.name+" "+r] = err.Error()
	}
	l.printf("run %d of %d: %s: %v", run+1, l.runs, b.name, err)
	return nil
}

func (l *lab) offerAll(ctx context.Context, b *rated, run int, all at) (err error) {
	if run == 0 && b.spec.System != nil && l.cfg.Tune {
		if b.spec, err = bench.Tune(ctx, b.spec, time.Duration(l.pick(400, 2000))*time.Millisecond, nil); err != nil {
			return err
		}
	}
	if of := b.spec.RecordSystem(); of != nil {
		all.with[b.name] = ranWith(of)
	}
	testbed, err := bench.OpenTestbed(ctx, b.spec)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, testbed.Close(ctx))
	}()
	for _, r := range offered {
		due, err := arrivals.Parse("constant:"+r+"/s", nil)
		if err != nil {
			return err
		}
		found, err := testbed.Run(ctx, bench.OpenRun{
			Arrivals: due, WarmUp: time.Duration(l.pick(200, 1000)) * time.Millisecond, WarmUpFixed: true,
			Measure: time.Duration(l.pick(600, 3000)) * time.Millisecond, Percentile: 50,
		})
		if err != nil {
			return err
		}
		l.printf("run %d of %d: %s at %s runs/s: %s", run+1, l.runs, b.name, r, all.add(b.name+" "+r, found))
	}
	return nil
}

// add returns what it adds.
func (a *at) add(key string, found *record.Load) string {
	finding := func(kinds ...string) int {
		return slices.IndexFunc(found.Findings, func(f record.LoadFinding) bool { return slices.Contains(kinds, f.Kind) })
	}
	if i := finding(load.KindWrong); i >= 0 {
		a.wrong[key] = found.Findings[i].Text
		return a.wrong[key]
	}
	if i := finding(load.KindOverload, load.KindUnended); i >= 0 {
		a.ended[key] = append(a.ended[key], found.AchievedPerS)
		return found.Findings[i].Text
	}
	if found.LatencyNS.MeanNS == nil {
		a.wrong[key] = "no run ended"
		return a.wrong[key]
	}
	mean := float64(*found.LatencyNS.MeanNS) / float64(time.Millisecond)
	a.means[key] = append(a.means[key], mean)
	return fmt.Sprintf("%.1f ms", mean)
}
