package reports_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pulley/bench/histogram"
	"pulley/reports"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// hopLog has a histogram of n hops for each row.
func hopLog(t *testing.T, s *record.Summary, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	var all []histogram.Tagged
	for i := range s.Rows {
		h := histogram.New()
		for j := range n {
			h.Record(time.Duration(j+1) * time.Microsecond)
		}
		all = append(all, histogram.Tagged{Tag: histogram.HopTag(s.Rows[i].Key()), Start: synthStart, End: synthStart, Hist: h})
	}
	if err := histogram.WriteLog(&b, nil, slices.Values(all)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func longestCurve(p *page.Page, unit units.Unit) (longest chart.Series) {
	for _, c := range p.Charts() {
		if c.X.Unit != unit || !strings.Contains(c.Title, "hop latency") {
			continue
		}
		for _, s := range c.Series {
			if len(s.Points) > len(longest.Points) {
				longest = s
			}
		}
	}
	return longest
}

// A record of pulley compare is drawn from its histograms, up to the percentile above which there are ten hops.
func TestOpenDrawsTheHistograms(t *testing.T) {
	s, m := synthetic()
	dir := t.TempDir()
	if err := record.WriteSummary(dir, s); err != nil {
		t.Fatal(err)
	}
	if err := record.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	open := func() *page.Page {
		t.Helper()
		p, err := reports.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if few := longestCurve(open(), units.Percentile); len(few.Points) < 1 || len(few.Points) > 3 {
		t.Errorf("without a log: %d points, want the percentiles of the summary", len(few.Points))
	}
	const n = 20_000
	log := hopLog(t, s, n)
	if err := os.WriteFile(filepath.Join(dir, record.HopFile), log, 0o600); err != nil {
		t.Fatal(err)
	}
	p := open()
	curve := longestCurve(p, units.Percentile).Points
	if len(curve) < 60 {
		t.Fatalf("%d points of a percentile curve", len(curve))
	}
	if last := curve[len(curve)-1]; n/last.X < 10 || n/last.X > 11 {
		t.Errorf("the curve ends at 1/(1-p) = %v of %d hops, want ten above", last.X, n)
	}
	for _, pt := range curve { // the times are uniform
		if want := n * (1 - 1/pt.X) * 1000; pt.Y < want*0.999 || pt.Y > want*1.002+1000 {
			t.Errorf("at 1/(1-p) = %v: %v ns, want %v", pt.X, pt.Y, want)
		}
	}
	shares := longestCurve(p, units.Nanoseconds).Points
	if len(shares) < 60 || shares[0].Y != 0 || shares[len(shares)-1].Y != 1 {
		t.Errorf("the distribution function has %d points", len(shares))
	}
	if !slices.ContainsFunc(p.Record, func(f page.File) bool { return f.Name == record.HopFile && bytes.Equal(f.Data, log) }) {
		t.Error("the page does not carry the log")
	}
	if err := os.WriteFile(filepath.Join(dir, record.HopFile), log[:len(log)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	if err := open().WriteHTML(&html); err != nil || !strings.Contains(html.String(), "hop.hlog is damaged") {
		t.Errorf("half a log is not said to be damaged: %v", err)
	}
}
