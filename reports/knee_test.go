package reports_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"pulley/reports"
	"pulley/reports/record"
)

// Latencies are in milliseconds, 0 for none.
func openRun(rate, p50, p99 float64, vote int) record.KneeRun {
	ns := func(ms float64) *int64 {
		if ms == 0 {
			return nil
		}
		v := int64(ms * 1e6)
		return &v
	}
	return record.KneeRun{
		AskedPerS: rate, OfferedPerS: rate, AchievedPerS: rate * 0.99, P50NS: ns(p50), P99NS: ns(p99), AtNS: ns(p99), Backlog: int(rate / 100), Vote: vote, Valid: true,
		Findings: []record.LoadFinding{},
	}
}

// kneeReport has a knee that is found, one of each other kind, and two scalings.
func kneeReport() *record.KneeReport {
	f := func(v float64) *float64 { return &v }
	overload, invalid := openRun(2000, 700, 0, -2), openRun(1500, 40, 90, 0)
	overload.Overloaded, overload.AchievedPerS, overload.Backlog = true, 1600, 900
	invalid.Valid, invalid.Findings = false, []record.LoadFinding{{Kind: "other-load", Text: "other programs use the machine"}}
	loop := func(inFlight int, perS, p99 float64, what string) record.KneeRun {
		r := openRun(perS, p99/3, p99, 0)
		r.InFlight, r.What, r.AskedPerS = inFlight, what, 0
		return r
	}
	below, closed, above := openRun(1200, 10, 25, 2), loop(20, 1190, 20, "the rate of the check"), overload
	k := record.Knee{
		Scenario: "fanout", Backend: "push:batch=1", Size: 10, Nodes: 12, Arrivals: "poisson",
		Objectives: []record.KneeObjective{{Percentile: 99, MostNS: 60e6, Source: "3 times the p99 of a closed loop with 9 in flight"}},
		Closed:     []record.KneeRun{loop(1, 90, 9, "alone"), loop(500, 1700, 300, "saturated"), loop(9, 850, 20, "half of saturation")},
		Points: []record.KneePoint{
			{RatePerS: 1000, Verdict: "holds", Runs: []record.KneeRun{openRun(1000, 8, 20, 3)}},
			{RatePerS: 1500, Verdict: "holds", Runs: []record.KneeRun{openRun(1500, 15, 45, 1), invalid, openRun(1500, 16, 48, 2)}},
			{RatePerS: 1550, Verdict: "breaks", Runs: []record.KneeRun{openRun(1550, 30, 80, -2), openRun(1550, 35, 95, -1)}},
			{RatePerS: 2000, Verdict: "breaks", Runs: []record.KneeRun{overload, overload}},
		},
		Kind: "found", HoldsPerS: f(1500), BreaksPerS: f(1550),
		Check: &record.KneeCheck{BelowShare: 0.8, Below: &below, Closed: &closed, Ratio: f(1.25), AboveShare: 1.2, Above: &above},
	}
	never, always, undecided := k, k, k
	never.Kind, never.HoldsPerS, never.BreaksPerS, never.Points, never.Check = "never", nil, f(1000), []record.KneePoint{{RatePerS: 1000, Verdict: "breaks", Runs: []record.KneeRun{overload}}}, nil
	always.Kind, always.BreaksPerS, always.Points, always.Check, always.Backend = "always", nil, k.Points[:2], nil, "memory"
	undecided.Kind, undecided.HoldsPerS, undecided.BreaksPerS, undecided.Points, undecided.Check, undecided.Objectives = "undecided", nil, nil, nil, nil, nil
	undecided.Why = "no closed loop gave a latency to take the objective from"
	law := record.ScalingLaw{
		LambdaPerS: record.Estimate{Value: f(100), Lo: f(90), Hi: f(110)}, Sigma: record.Estimate{Value: f(0.05), Lo: f(0.01), Hi: f(0.1)},
		Kappa: record.Estimate{Value: f(0.01), Lo: f(0.005), Hi: f(0.02)}, Peak: record.Estimate{Value: f(9.7), Lo: f(6), Hi: f(14)},
		HighestPerS: record.Estimate{Value: f(430), Lo: f(400), Hi: f(460)}, Determined: true, ErrorPerS: 12,
	}
	s := record.Scaling{Scenario: "chain", Backend: "journal", Size: 5, Nodes: 5, What: "workers", InFlight: 100, Warnings: []string{"3 different values"}}
	for _, n := range []int{1, 4, 16} {
		at := 100 * float64(n) / (1 + 0.05*float64(n-1) + 0.01*float64(n*(n-1)))
		law.Curve = append(law.Curve, record.ScalingPoint{N: float64(n), PerS: at, Lo: at * 0.9, Hi: at * 1.1})
		for _, off := range []float64{0.95, 1.02} {
			s.Runs = append(s.Runs, record.ScalingRun{N: n, PerS: at * off, Valid: n != 4 || off < 1, Findings: []record.LoadFinding{}})
		}
	}
	open := s
	s.Law = &law
	unbounded := law
	unbounded.Determined, unbounded.Peak = false, record.Estimate{Lo: f(20)}
	open.Law, open.What = &unbounded, "connections"
	return &record.KneeReport{Knees: []record.Knee{k, never, always, undecided}, Scalings: []record.Scaling{s, open, {Scenario: "chain", Backend: "pull", What: "workers"}}}
}

func TestKneeText(t *testing.T) {
	var b bytes.Buffer
	if err := reports.WriteKneeText(&b, kneeReport()); err != nil {
		t.Fatal(err)
	}
	golden(t, "knee.txt", b.String())
}

// The check above the knee must state what is exceeded, and report an inconclusive run as such.
func TestAboveTheKnee(t *testing.T) {
	grows, breaks, holds, invalid := openRun(1800, 700, 900, -2), openRun(1800, 40, 90, -1), openRun(1800, 20, 50, 2), openRun(1800, 40, 90, 0)
	grows.Overloaded = true
	invalid.Valid, invalid.Findings = false, []record.LoadFinding{{Kind: "other-load"}}
	for want, above := range map[string]*record.KneeRun{
		"1,800/s: overload: 1,782/s ended, and the backlog was 18\n":                          &grows,
		"1,800/s: overload: the backlog does not grow, but the objective breaks: p99 90.0 ms": &breaks,
		"1,800/s: no overload: the objective holds: p99 50.0 ms":                              &holds,
		"1,800/s: p99 90.0 ms (invalid: other-load)":                                          &invalid,
	} {
		r := kneeReport()
		r.Knees[0].Check.Above = above
		var b bytes.Buffer
		if err := reports.WriteKneeText(&b, r); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v; %q is not in %s", err, want, b.String())
		}
	}
}

func TestKneeCharts(t *testing.T) {
	charts := reports.KneeCharts(kneeReport())
	var names []string
	for _, c := range charts {
		names = append(names, c.Name)
		var svg, picture bytes.Buffer
		if err := c.Write(&svg, "svg"); err != nil {
			t.Fatal(err)
		}
		if text := svg.String(); !strings.Contains(text, "</svg>") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
			t.Errorf("%s: %.200s", c.Name, text)
		}
		if err := c.Write(&picture, "png"); err != nil {
			t.Fatal(err)
		}
		if img, err := png.Decode(&picture); err != nil || img.Bounds().Dx() < 500 {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	want := "knee-fanout-10-push_batch_1 knee-fanout-10-push_batch_1 knee-fanout-10-memory knee-fanout-10-push_batch_1 " +
		"scaling-workers-chain-5-journal scaling-connections-chain-5-journal"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("charts are %s, want %s", got, want)
	}
	if c := reports.KneeChart(&record.Knee{Scenario: "chain", Backend: "push"}); c != nil {
		t.Errorf("nothing was measured, and %s is drawn", c.Name)
	}
}

func TestKneesAreReadAgain(t *testing.T) {
	dir, r := t.TempDir(), kneeReport()
	if err := record.WriteKnees(dir, r); err != nil {
		t.Fatal(err)
	}
	again, err := record.ReadKnees(filepath.Join(dir, record.KneeFile))
	if err != nil {
		t.Fatal(err)
	}
	var one, two bytes.Buffer
	if err := record.EncodeKnees(&one, r); err != nil {
		t.Fatal(err)
	}
	if err := record.EncodeKnees(&two, again); err != nil || one.String() != two.String() {
		t.Errorf("%v; what is read is not what was written", err)
	}
	if !json.Valid(one.Bytes()) || strings.Contains(one.String(), "null,\n    \"runs\"") {
		t.Errorf("%.300s", one.String())
	}
	bad := *r
	bad.Knees = append([]record.Knee{}, r.Knees...)
	bad.Knees[0].BreaksPerS = nil
	if err := record.WriteKnees(dir, &bad); err == nil {
		t.Error("a knee is found that nothing encloses")
	}
	bad.Knees[0] = r.Knees[0]
	bad.Knees[0].Points = append([]record.KneePoint{{RatePerS: math.MaxFloat64}}, r.Knees[0].Points...)
	if err := record.WriteKnees(dir, &bad); err == nil {
		t.Error("the rates do not ascend")
	}
}
