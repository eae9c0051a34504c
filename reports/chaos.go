package reports

import (
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"

	"pulley/reports/record"
)

type chaosPage struct {
	Title, Verdict, State         string
	Good                          bool
	Facts, Why, Notes             []string
	LightVariables, DarkVariables template.CSS
	Style                         template.CSS
	Script                        template.JS
	Throughput                    []figure
	Recovery, Faults              *table
	RecoveryLead                  string
	RecoveryVerdicts              *table
	RecoveryBeyond                []string
	Growth                        *table
	GrowthMethod                  string
	Series                        []figure
	LeftOut                       []entry
	Repeat                        string
}

// WriteChaosHTML writes the report on a chaos run as one self-contained page.
func WriteChaosHTML(w io.Writer, c *record.Chaos) error {
	p, err := newChaosPage(c)
	return writePage(w, "chaos.html.tmpl", p, err)
}

func newChaosPage(c *record.Chaos) (*chaosPage, error) {
	style, err := pageFiles.ReadFile("page/style.css")
	if err != nil {
		return nil, err
	}
	script, err := pageFiles.ReadFile("page/sort.js")
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range c.Faults {
		total += n
	}
	p := &chaosPage{
		Title: "pulley chaos", Good: c.Verdict == "pass", State: c.Verdict,
		Verdict: fmt.Sprintf("%s on %s: %s of %s, %s", c.Backend, plural(c.Engines, "engine"), plural(c.Completions, "completion"),
			plural(c.Instances, "instance"), plural(total, "fault")),
		Facts: []string{fmt.Sprintf("seed %d", c.Seed)}, Why: c.Why, Notes: c.Facts, Repeat: c.Repeat,
		LightVariables: template.CSS(cssVariables(false)), DarkVariables: template.CSS(cssVariables(true)),
		Style: template.CSS(style), Script: template.JS(script),
		Recovery: recoveryTable(c.Recovery), RecoveryLead: recoveryLead(c.Recovery), Faults: faultTable(c),
		RecoveryVerdicts: recoveryVerdictTable(c.Recovery.Verdicts),
	}
	for _, v := range c.Recovery.Verdicts {
		p.RecoveryBeyond = append(p.RecoveryBeyond, v.Beyond...)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.LeftOut)) {
		p.LeftOut = append(p.LeftOut, entry{kind, c.LeftOut[kind]})
	}
	if p.Throughput, err = figures(throughputCharts(c.Timeline)); err != nil {
		return nil, err
	}
	if c.Soak != nil {
		p.Growth, p.GrowthMethod = growthTable(c.Soak), c.Soak.Method
		p.Series, err = figures(soakCharts(c.Soak, c.Timeline.Faults))
	}
	return p, err
}

func millisecondCell(v float64, n int) cell {
	if n == 0 {
		return figureCell(nil, nil, "")
	}
	return figureCell(&v, func(ms float64) string { return duration(ms * 1e6) }, "")
}

func recoveryTable(r record.Recovery) *table {
	if r.Faults == 0 {
		return nil
	}
	t := &table{Label: "Recovery after faults", Heads: []head{{Name: "kind", Text: true}, {Name: "faults"}}}
	for _, what := range []string{"first completion", "95 % of the rate", "all continued", "all had ended"} {
		for _, q := range []string{"p50", "p99", "max"} {
			t.Heads = append(t.Heads, head{Name: what, Unit: q})
		}
		t.Heads = append(t.Heads, head{Name: what, Unit: "seen"})
	}
	add := func(name string, times record.RecoveryTimes) {
		cells := []cell{words(name), count(times.Faults)}
		for _, p := range []record.RecoveryPercentiles{times.First, times.Rate, times.Recovered, times.Finished} {
			cells = append(cells, millisecondCell(p.P50, p.N), millisecondCell(p.P99, p.N), millisecondCell(p.Max, p.N), count(p.N))
		}
		t.Rows = append(t.Rows, tableRow{Cells: cells})
	}
	add("all", r.RecoveryTimes)
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		add(kind, r.Kinds[kind])
	}
	return t
}

func recoveryLead(r record.Recovery) string {
	return fmt.Sprintf("From the end of each fault until a completion was applied; until completions were applied at 95 %% of the rate since "+
		"the fault before, or, before the first, of %s/s; until each instance that was open at its end had a completion applied, or had ended; and until all those instances had ended. A fault after which the next one, or the "+
		"run's end, came sooner is not among those seen. A killed engine's work may be had by others after its lease and two sweeps: %s.",
		number(r.RateWas), duration(r.BoundMS*1e6))
}

func recoveryVerdictTable(verdicts []record.RecoveryVerdict) *table {
	if len(verdicts) == 0 {
		return nil
	}
	t := &table{Label: "Recovery against its bounds", Heads: []head{
		{Name: "kind", Text: true}, {Name: "what comes back", Text: true}, {Name: "bound"}, {Name: "p99"}, {Name: "beyond"},
		{Name: "decided"}, {Name: "faults"}, {Name: "judgement", Text: true},
	}}
	for _, v := range verdicts {
		t.Rows = append(t.Rows, tableRow{Invalid: v.Verdict == record.RecoveryMissed, Cells: []cell{
			words(v.Kind), words(v.What + " within " + v.Bound), millisecondCell(v.BoundMS, 1), millisecondCell(v.P99, v.Decided),
			count(len(v.Beyond)), count(v.Decided), count(v.Faults), words(v.Verdict),
		}})
	}
	return t
}

func faultTable(c *record.Chaos) *table {
	if len(c.Faults) == 0 {
		return nil
	}
	t := &table{Label: "Faults", Heads: []head{{Name: "kind", Text: true}, {Name: "times"}}}
	for _, kind := range slices.Sorted(maps.Keys(c.Faults)) {
		t.Rows = append(t.Rows, tableRow{Cells: []cell{words(kind), count(c.Faults[kind])}})
	}
	return t
}

func growthTable(s *record.Soak) *table {
	t := &table{Label: "Growth", Heads: []head{
		{Name: "what", Text: true}, {Name: "begin"}, {Name: "end"}, {Name: "end / begin"}, {Name: "judgement", Text: true},
	}}
	for _, g := range s.Growth {
		ratio, judgement := cell{Text: missing, HasValue: true}, "shown only"
		if g.Begin > 0 {
			v := g.End / g.Begin
			ratio = figureCell(&v, times, "")
		}
		if g.Judged {
			if judgement = "within"; !g.Within {
				judgement = "grows"
			}
		}
		show := soakFormat(g.Unit)
		t.Rows = append(t.Rows, tableRow{Invalid: !g.Within && g.Judged, Cells: []cell{
			words(g.Name), figureCell(&g.Begin, show, ""), figureCell(&g.End, show, ""), ratio, words(judgement),
		}})
	}
	return t
}

func soakFormat(unit string) func(float64) string {
	if unit == "bytes" {
		return bytesText
	}
	return number
}
