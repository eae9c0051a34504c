package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/bench"
	"pulley/bench/load"
	"pulley/bench/stats"
	"pulley/bench/usl"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
	"pulley/scenarios/arrivals"
)

// Axis is what is scaled.
type Axis string

// The axes.
const (
	Workers     Axis = "workers"
	Connections Axis = "connections"
)

// ParseAxis parses "workers=1,2,4": an axis and its ascending values. The error is one line that says what to write.
func ParseAxis(text string) (Axis, []int, error) {
	const right = "write workers=1,2,4,8,16 or connections=2,4,8,16"
	name, list, ok := strings.Cut(text, "=")
	axis := Axis(strings.TrimSpace(name))
	if !ok || axis != Workers && axis != Connections {
		return "", nil, fmt.Errorf("scale %q: %s", text, right)
	}
	least, most := 1, 10_000
	if axis == Connections {
		least, most = 2, 1000
	}
	var values []int
	for _, part := range strings.Split(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < least || n > most {
			return "", nil, fmt.Errorf("scale %q: %q is no number of %s from %d to %d", text, part, axis, least, most)
		}
		values = append(values, n)
	}
	slices.Sort(values)
	if unique := slices.Compact(slices.Clone(values)); len(unique) < len(values) {
		return "", nil, fmt.Errorf("scale %q: a value is there twice", text)
	}
	if len(values) < 3 {
		return "", nil, fmt.Errorf("scale %q: the law has three parameters and needs three values or more; %s", text, right)
	}
	return axis, values, nil
}

// Scale sets the axis of a testbed to n. It fails for a design without connections.
func (a Axis) Scale(spec bench.TestbedSpec, n int) (bench.TestbedSpec, error) {
	if a == Workers {
		spec.Workers = n
		return spec, nil
	}
	if spec.System != nil {
		return spec, fmt.Errorf("the connections of %s, which is behind an adapter, cannot be scaled; scale workers, which are its slots", spec.Name())
	}
	text := spec.Backend.String()
	if strings.Contains(text, ":connections=") {
		return spec, fmt.Errorf("backend %s: its connections are said already, and cannot be scaled", text)
	}
	var err error
	spec.Backend, err = designs.Parse(fmt.Sprintf("%s:connections=%d", text, n))
	return spec, err
}

// ScaleSpec configures a measurement.
type ScaleSpec struct {
	// Open opens a system with the axis at n; it is closed after one run.
	Open func(ctx context.Context, n int) (run RunLoad, inFlightMost int, closing func(context.Context) error, err error)
	Axis Axis
	// ascending
	Values []int
	// per value; zero: 3
	Runs int
	// instances at once; zero: a tenth of the most, at least 8
	InFlight int
	// a run's measured time, after a warm-up of a third of that; zero: 1.5 s
	Measure time.Duration
	Seed    uint64
	Limits  load.Limits
	Say     func(line string) // called after every run; may be nil
}

// MeasureScaling runs closed loops with every value in turn, and fits the Universal Scalability Law to the valid ones. Values
// alternate upwards and downwards, so that a drift of the machine affects all alike. With an error, of the system or ctx's
// cause, it also returns what it has.
func MeasureScaling(ctx context.Context, spec ScaleSpec) (*record.Scaling, error) {
	spec.Runs, spec.Measure = cmp.Or(spec.Runs, 3), cmp.Or(spec.Measure, 1500*time.Millisecond)
	out := &record.Scaling{What: string(spec.Axis), InFlight: spec.InFlight, Warnings: []string{}}
	order := slices.Clone(spec.Values)
	var err error
measuring:
	for range spec.Runs {
		for _, n := range order {
			if err = spec.once(ctx, out, n); err != nil {
				break measuring
			}
		}
		slices.Reverse(order)
	}
	fit(out, spec.Seed)
	return out, err
}

func (s ScaleSpec) once(ctx context.Context, out *record.Scaling, n int) error {
	run, most, closing, err := s.Open(ctx, n)
	if err != nil {
		return err
	}
	out.InFlight = cmp.Or(s.InFlight, max(most/saturatingPart, saturatingLeast))
	l, err := run(ctx, bench.OpenRun{
		Arrivals: arrivals.Closed(out.InFlight), WarmUp: s.Measure / 3, WarmUpFixed: true, Measure: s.Measure, Percentile: 50, Seed: s.Seed, Limits: s.Limits,
	})
	if err := errors.Join(err, closing(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	r := record.ScalingRun{N: n, PerS: l.AchievedPerS, Valid: measures(l), Findings: append([]record.LoadFinding{}, l.Findings...)}
	out.Runs = append(out.Runs, r)
	if s.Say != nil {
		text := fmt.Sprintf("%d %s: %s", n, s.Axis, perSecond(r.PerS))
		if !r.Valid {
			text += " (counts for nothing: " + l.Findings[0].Text + ")"
		}
		s.Say(text)
	}
	return nil
}

// Latencies do not matter for scaling.
func measures(l *record.Load) bool {
	ignored := []string{load.KindUnended, load.KindTooFew, load.KindDrift, load.KindWarmUp, load.KindLag}
	return !slices.ContainsFunc(l.Findings, func(f record.LoadFinding) bool { return !slices.Contains(ignored, f.Kind) })
}

const curvePoints = 60

func fit(out *record.Scaling, seed uint64) {
	var points []usl.Point
	for _, r := range out.Runs {
		if r.Valid {
			points = append(points, usl.Point{N: float64(r.N), PerS: r.PerS})
		}
	}
	if left := len(out.Runs) - len(points); left > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d runs are left out, since they are invalid", left, len(out.Runs)))
	}
	f, err := usl.FitLaw(points, usl.Options{Seed: seed})
	if err != nil {
		out.Warnings = append(out.Warnings, err.Error())
		return
	}
	out.Warnings = append(out.Warnings, f.Warnings...)
	law := &record.ScalingLaw{
		LambdaPerS: estimate(f.LambdaIn), Sigma: estimate(f.SigmaIn), Kappa: estimate(f.KappaIn), Peak: estimate(f.PeakIn), HighestPerS: estimate(f.HighestIn),
		Determined: f.Determined, ErrorPerS: f.Error,
	}
	least, most := points[0].N, points[0].N
	for _, p := range points {
		least, most = min(least, p.N), max(most, p.N)
	}
	if peak := f.Peak(); peak > most && peak < 2*most {
		most = peak * 1.2
	}
	for i := range curvePoints {
		n := least * math.Pow(most/least, float64(i)/(curvePoints-1))
		in := f.Band(n)
		law.Curve = append(law.Curve, record.ScalingPoint{N: n, PerS: in.Median, Lo: in.Lo, Hi: in.Hi})
	}
	out.Law = law
}

// estimate omits what is unbounded.
func estimate(in stats.Interval) record.Estimate {
	finite := func(v float64) *float64 {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
		return &v
	}
	return record.Estimate{Value: finite(in.Median), Lo: finite(in.Lo), Hi: finite(in.Hi)}
}
