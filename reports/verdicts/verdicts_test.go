package verdicts_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/verdicts"
)

func shows(t *testing.T, p *page.Page, want ...string) string {
	t.Helper()
	var html, text bytes.Buffer
	for _, write := range []func(io.Writer) error{func(io.Writer) error { return p.WriteHTML(&html) }, func(io.Writer) error { return p.WriteText(&text) }} {
		if err := write(nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range want {
		if !strings.Contains(html.String(), part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	for _, part := range []string{"ZgotmplZ", "<evil>", ">NaN"} {
		if strings.Contains(html.String(), part) {
			t.Errorf("the page has %q", part)
		}
	}
	if words := len(strings.Fields(p.Answer)); words > 20 {
		t.Errorf("the answer has %d words: %s", words, p.Answer)
	}
	return text.String()
}

func search(v *record.SimViolation) *record.Sim {
	return &record.Sim{Command: []string{"pulley", "sim"}, Searches: []record.SimSearch{{Backend: "push", Seeds: 100, Steps: 5000, VirtualSeconds: 60, Seconds: 2,
		Faults: map[string]int{"cut": 7, "lost": 3}, Never: []string{"fault: stuck"}, Violation: v}}}
}

func TestSim(t *testing.T) {
	p := verdicts.Sim(&verdicts.SimRecord{Sim: search(nil), Coverage: "met <evil>"})
	if shows(t, p, "No invariant is violated in 100 seeds of 1 search.", "never: fault: stuck", "met &lt;evil&gt;", "5,000 steps"); p.State.Mark != page.Unclear {
		t.Errorf("%v, although a kind never happened", p.State)
	}
	kase := &record.SimCase{Why: "I3: <evil>", Backend: "push", Seed: 4, Source: "fn main() {}", Engines: 2}
	r := &verdicts.SimRecord{Sim: search(&record.SimViolation{Seed: 4, Why: []string{"I3: <evil>", "I1: more"}}), Case: kase, Drawing: []byte("<svg/>"), Steps: "1 submit"}
	p = verdicts.Sim(r)
	if text := shows(t, p, "push violates an invariant in seed 4", "I3: &lt;evil&gt;", "I1: more", "base64,PHN2Zy8", "1 submit", "fn main() {}", "pulley sim --replay"); p.State.Mark != page.Bad || !strings.Contains(text, "Space–time diagram") {
		t.Errorf("%v\n%s", p.State, text)
	}
	// an earlier version wrote no sim.json, and drew nothing
	shows(t, verdicts.Sim(&verdicts.SimRecord{Case: kase}), "push violates an invariant in seed 4.", "draws the case")
	shows(t, verdicts.Sim(&verdicts.SimRecord{Sim: &record.Sim{Repeats: []record.SimRepeats{{Backend: "push", Bug: "b", Times: 10, Found: 9, Median: 3, Wrong: "1 found nothing"}}}}), "0 of 1 planted bug", "1 found nothing")
}

func spread(v float64) record.Spread { return record.Spread{Median: v, Lo: 0.9 * v, Hi: 1.1 * v} }

func foretold() *record.Forecast {
	path := spread(80)
	times := record.ForecastTimes{Mean: spread(1), P50: spread(1), P90: spread(2), P99: spread(5), Max: spread(9)}
	return &record.Forecast{Command: []string{"pulley", "forecast"}, Scenario: "fanout=500 <evil>", Workers: 16, Instances: 1, Service: []string{"exp:10ms"}, Seed: 1, Runs: 10, Attempts: 500, Completed: 1, Confidence: 0.98,
		MakespanMS: spread(370), WorkMS: spread(5000), Utilisation: spread(0.86), SpeedUp: spread(13), InSystem: spread(1), InQueue: spread(200), Waiting: times, Latencies: times,
		Bounds: record.ForecastBounds{CriticalPathMS: &path, AreaMS: spread(310), LowerMS: spread(310)}}
}

func TestForecast(t *testing.T) {
	f := foretold()
	if p := verdicts.Forecast(f, []byte("<svg/>")); p.State.Mark != page.Good {
		t.Errorf("%v", p.State)
	} else {
		shows(t, p, "takes 370 ms", "333 ms", "critical path", "The schedule of the first run", "pulley forecast")
	}
	f.Bounds.CriticalPathMS, f.Runs, f.Warnings = nil, 1, []string{"1 run: <evil>"}
	if p := verdicts.Forecast(f, nil); p.State.Mark != page.Unclear {
		t.Errorf("%v", p.State)
	} else {
		shows(t, p, "1 run: &lt;evil&gt;")
	}
	shows(t, verdicts.Forecast(&record.Forecast{Scenario: "x", Workers: 1}, nil), "takes 0 ns")
}

func TestNight(t *testing.T) {
	failed := &record.NightPart{Part: "seeds", About: "worlds", Verdict: record.NightPass, Seconds: 10, Budget: 20}
	failed.Add("seeds of push", 1234567)
	failed.Add("seeds of push", 1)
	failed.Doubt(record.NightProblem{What: "slow"})
	failed.Fail(record.NightProblem{What: "I4 <evil>", Again: "pulley sim --replay x", Output: "some output"})
	failed.Doubt(record.NightProblem{What: "late"})
	if failed.Verdict != record.NightFail || failed.Counts[0].N != 1234568 {
		t.Fatalf("%+v", failed)
	}
	passed := &record.NightPart{Part: "code", Verdict: record.NightPass, Notes: []string{"a note"}}
	p := verdicts.Night(&record.Night{Verdict: record.NightFail, Night: "5h", Ended: true, Parts: []*record.NightPart{passed, failed}})
	shows(t, p, "The night failed: 1 of 2 parts failed, 0 inconclusive.", "1,234,568 seeds of push", "I4 &lt;evil&gt;", "pulley sim --replay x", "some output", "a note")
	if p.State.Mark != page.Bad || !strings.HasPrefix(p.Sections[0].Title, "seeds") {
		t.Errorf("%v, first is %s", p.State, p.Sections[0].Title)
	}
	if p := verdicts.Night(&record.Night{Verdict: record.NightPass, Parts: []*record.NightPart{passed}}); p.State.Mark != page.Unclear {
		t.Errorf("a night that was broken off: %v", p.State)
	}
}
