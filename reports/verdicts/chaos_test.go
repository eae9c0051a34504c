package verdicts_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pulley/reports/record"
	"pulley/reports/verdicts"
)

// chaosRun has two seconds of ten completions a window, a fault, then none for a second.
func chaosRun() *record.Chaos {
	var completions []int
	for i := range 50 {
		n := 10
		if i >= 20 && i < 30 {
			n = 0
		}
		completions = append(completions, n)
	}
	p := record.RecoveryPercentiles{N: 1, P50: 1000, P99: 1000, Max: 1000}
	times := record.RecoveryTimes{Faults: 2, First: p, Rate: p}
	v := 1e6
	return &record.Chaos{
		Verdict: "fail", Why: []string{`I8: "<lost>"`}, Backend: "push", Engines: 2, Seed: 7, Instances: 40, Completions: 400,
		Faults: map[string]int{"postgres.kill": 2}, LeftOut: map[string]string{"process.pause": "not here"}, Repeat: "pulley chaos --replay x",
		Recovery: record.Recovery{RecoveryTimes: times, RateWas: 100, BoundMS: 3000, Kinds: map[string]record.RecoveryTimes{"postgres.kill": times}, Verdicts: []record.RecoveryVerdict{{
			Kind: "postgres.kill", What: "95 % of the earlier rate", Bound: "5 s", BoundMS: 5000, Faults: 2, Decided: 2, P99: 7000,
			Verdict: record.RecoveryMissed, Beyond: []string{"postgres.kill at 2.1 s: <late>"},
		}}},
		Timeline: record.Timeline{WindowMS: 100, Completions: completions, Faults: []record.FaultTime{{Kind: "postgres.kill", BeginMS: 2000, EndMS: 2100}}},
		Soak: &record.Soak{
			Method: "medians", EveryS: 1,
			Growth: []record.Growth{{Name: "tables", Unit: "bytes", Begin: 1e6, End: 3e6, Judged: true}, {Name: "goroutines", Begin: 10, End: 10, Within: true}},
			Series: []record.SoakSeries{{Name: "tables", Unit: "bytes", AtS: []float64{0, 1, 2}, Values: []*float64{&v, nil, &v}}},
		},
	}
}

// The page must state what the run found, and need no network.
func TestChaosPage(t *testing.T) {
	var b bytes.Buffer
	if err := verdicts.Chaos(chaosRun()).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, part := range []string{
		"push broke its promise: 40 instances, after 2 faults on 2 engines.", "fail: the history violates", "I8: &#34;&lt;lost&gt;&#34;", "1.00 s", "3.00 MB", "grows",
		"not here", "100/s", "3.00 s", "<svg", "completions / s", "95 % of the earlier rate within 5 s", "7.00 s", "missed", "2.1 s: &lt;late&gt;", "pulley chaos --replay x",
	} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q", part)
		}
	}
	for _, part := range []string{"http://evil", "https://", "<lost>", "ZgotmplZ"} {
		if strings.Contains(page, part) {
			t.Errorf("the page has %q", part)
		}
	}
	var again bytes.Buffer
	if err := verdicts.Chaos(chaosRun()).WriteHTML(&again); err != nil || again.String() != page {
		t.Errorf("the same record gives another page, or %v", err)
	}
}

func TestChaosPageOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := verdicts.Chaos(&record.Chaos{Verdict: "pass"}).WriteHTML(&b); err != nil || strings.Contains(b.String(), `<svg class="chart"`) {
		t.Errorf("%v, or a drawing of nothing", err)
	}
	full := errors.New("full")
	if err := verdicts.Chaos(chaosRun()).WriteHTML(failingWriter{full}); !errors.Is(err, full) {
		t.Errorf("%v, want the writer's error", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
