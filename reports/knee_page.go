package reports

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pulley/internal/plural"
	"pulley/reports/chart"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Knees lays out the report on a search for knees.
func Knees(r *record.KneeReport, files ...page.File) *page.Page {
	p := &page.Page{
		Kind: "knee", Answer: kneeAnswer(r), State: kneeState(r), Repeat: strings.Join(r.Command, " "), Record: files,
		Facts: setup(r.StartedAt, r.Postgres, r.Host), Tool: r.Tool.String(),
	}
	for i := range r.Knees {
		k := &r.Knees[i]
		b := page.Block{Text: KneeSentence(k)}
		if c := KneeChart(k); c != nil {
			b = page.Block{Charts: []*chart.Plot{c}}
		}
		if i < 2 {
			p.First = append(p.First, b)
		}
		s := page.Section{ID: fmt.Sprintf("knee-%d", i+1), Title: fmt.Sprintf("%s on %s", (&family{scenario: k.Scenario}).label(k.Size), short(k.Backend))}
		if i >= 2 {
			s.Blocks = append(s.Blocks, b)
		}
		for _, part := range []page.Block{{Heading: "Rates that were tried", Table: ratesTable(k)}, {Heading: "Closed loops", Table: loopsTable(k)}, {Heading: "Check", List: checkItems(k)}} {
			if !part.Empty() {
				s.Blocks = append(s.Blocks, part)
			}
		}
		if len(s.Blocks) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	for i := range r.Scalings {
		s := &r.Scalings[i]
		section := page.Section{ID: fmt.Sprintf("scaling-%d", i+1), Title: fmt.Sprintf("%s on %s by %s", (&family{scenario: s.Scenario}).label(s.Size), short(s.Backend), s.What), Lead: ScalingSentence(s)}
		if c := ScalingChart(s); c != nil {
			section.Blocks = append(section.Blocks, page.Block{Charts: []*chart.Plot{c}})
			section.Lead = "" // the chart says it
		}
		if l := s.Law; l != nil {
			section.Blocks = append(section.Blocks, page.Block{Entries: []page.Entry{
				{Name: "law", Text: "X(N) = λN/(1 + σ(N−1) + κN(N−1)), the Universal Scalability Law"}, {Name: "λ, instances/s", Text: estimateText(l.LambdaPerS)},
				{Name: "σ, waiting", Text: estimateText(l.Sigma)}, {Name: "κ, agreeing", Text: estimateText(l.Kappa)}, {Name: "standard error", Text: units.Number(l.ErrorPerS) + " instances/s"},
			}})
		}
		section.Blocks = append(section.Blocks, notes(s.Warnings)...)
		p.Sections = append(p.Sections, section)
	}
	var methods []page.Entry
	for _, m := range r.Methods {
		methods = append(methods, page.Entry{Name: m.Figure, Text: m.Text})
	}
	var systems []record.System
	for i := range r.Knees {
		if s := r.Knees[i].System; s != nil {
			systems = append(systems, *s)
		}
	}
	p.Add(page.Section{ID: "method", Title: "How it was measured", Blocks: append([]page.Block{{Entries: methods}}, systemBlocks(systems)...)})
	return p
}

// WriteKneeHTML writes the report on a search for knees as one self-contained page.
func WriteKneeHTML(w io.Writer, r *record.KneeReport, files ...page.File) error {
	return Knees(r, files...).WriteHTML(w)
}

func kneeAnswer(r *record.KneeReport) string {
	if len(r.Knees) == 0 {
		if len(r.Scalings) == 1 {
			s := &r.Scalings[0]
			return fmt.Sprintf("How %s on %s scales with %s.", (&family{scenario: s.Scenario}).label(s.Size), short(s.Backend), s.What)
		}
		return "Nothing was measured."
	}
	if len(r.Knees) > 1 {
		found, best := 0, -1
		for i, k := range r.Knees {
			if k.Kind == "found" {
				found++
			}
			if k.HoldsPerS != nil && (best < 0 || *k.HoldsPerS*float64(k.Nodes) > *r.Knees[best].HoldsPerS*float64(r.Knees[best].Nodes)) {
				best = i
			}
		}
		if best < 0 {
			return fmt.Sprintf("Of %d searches none found a rate that holds.", len(r.Knees))
		}
		k := &r.Knees[best]
		return fmt.Sprintf("%d of %d knees found; highest: %s on %s with %s node runs/s.", found, len(r.Knees), (&family{scenario: k.Scenario}).label(k.Size), short(k.Backend), units.Number(*k.HoldsPerS*float64(k.Nodes)))
	}
	k := &r.Knees[0]
	of := fmt.Sprintf("%s on %s", (&family{scenario: k.Scenario}).label(k.Size), short(k.Backend))
	switch k.Kind {
	case "found":
		return fmt.Sprintf("%s holds its objective up to %s instances/s and breaks it at %s.", of, units.Number(*k.HoldsPerS), units.Number(*k.BreaksPerS))
	case "never":
		return fmt.Sprintf("%s holds its objective at no rate that was tried.", of)
	case "always":
		return fmt.Sprintf("%s holds its objective up to %s instances/s, the highest tried.", of, units.Number(*k.HoldsPerS))
	}
	return fmt.Sprintf("%s: the knee is undecided.", of)
}

func kneeState(r *record.KneeReport) page.State {
	undecided := 0
	for _, k := range r.Knees {
		if k.Kind == "undecided" || k.Kind == "" {
			undecided++
		}
	}
	switch {
	case r.Interrupted:
		return page.State{Text: "The search was interrupted: this is what it had by then.", Mark: page.Unclear}
	case undecided > 0:
		return page.State{Text: plural.Of(undecided, "search", "searches") + " did not decide.", Mark: page.Unclear}
	}
	return page.State{Text: "Every search decided.", Mark: page.Good}
}

func ratesTable(k *record.Knee) *page.Table {
	if len(k.Points) == 0 {
		return nil
	}
	t := &page.Table{Says: fmt.Sprintf("Open loop, %s arrivals: medians over the runs at each rate", k.Arrivals), Heads: []page.Head{
		{Name: "rate", Unit: "/s"}, {Name: "runs"}, {Name: "sent", Unit: "/s"}, {Name: "ended", Unit: "/s"}, {Name: "p50"}, {Name: percentileText(k)}, {Name: "open", Unit: "at the end"}, {Name: "verdict", Words: true},
	}}
	for i := range k.Points {
		pt := &k.Points[i]
		of := func(get func(*record.KneeRun) float64, format func(float64) string) page.Cell {
			v := middle(pt.Runs, get)
			if text := timeText(v); text == units.Missing {
				return page.Cell{Text: text, HasValue: true}
			}
			return page.Figure(&v, format, "")
		}
		verdict := page.Cell{Text: verdictText(pt)}
		switch pt.Verdict {
		case "holds":
			verdict.Mark = page.Good
		case "breaks":
			verdict.Mark = page.Bad
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			{Text: units.Number(pt.RatePerS)}, count(len(pt.Runs)),
			of(func(r *record.KneeRun) float64 { return r.OfferedPerS }, units.Number), of(func(r *record.KneeRun) float64 { return r.AchievedPerS }, units.Number),
			of(func(r *record.KneeRun) float64 { return orNaN(r.P50NS) }, units.Duration), of(func(r *record.KneeRun) float64 { return orNaN(r.AtNS) }, units.Duration),
			of(func(r *record.KneeRun) float64 { return float64(r.Backlog) }, units.Number), verdict,
		}})
	}
	return t
}

func loopsTable(k *record.Knee) *page.Table {
	if len(k.Closed) == 0 {
		return nil
	}
	t := &page.Table{Says: "Closed loops: so many instances in flight, each followed by another", Heads: []page.Head{{Name: "in flight"}, {Name: "ended", Unit: "/s"}, {Name: "p50"}, {Name: percentileText(k)}, {Name: "why", Words: true}}}
	for i := range k.Closed {
		r := &k.Closed[i]
		t.Rows = append(t.Rows, page.Row{Doubtful: !r.Valid, Cells: []page.Cell{{Text: units.Thousands(int64(r.InFlight))}, page.Figure(&r.AchievedPerS, units.Number, ""), optionalNanos(r.P50NS), optionalNanos(r.AtNS), {Text: r.What + invalidText(r), Wrap: true}}})
	}
	return t
}

func checkItems(k *record.Knee) (out []page.Item) {
	c := k.Check
	if c == nil {
		return nil
	}
	if r := c.Below; r != nil {
		text := fmt.Sprintf("At %.0f %% of the knee, %s/s: %s", 100*c.BelowShare, units.Number(r.AskedPerS), runText(k, r))
		if c.Ratio != nil && c.Closed != nil {
			text += fmt.Sprintf("; %s that of a closed loop with %d in flight, which does %s/s", units.Times(*c.Ratio), c.Closed.InFlight, units.Number(c.Closed.AchievedPerS))
		}
		out = append(out, page.Item{Text: text + "."})
	}
	if r := c.Above; r != nil {
		out = append(out, page.Item{Text: fmt.Sprintf("At %.0f %% of the knee, %s/s: %s.", 100*c.AboveShare, units.Number(r.AskedPerS), aboveText(k, r))})
	}
	return out
}

// KneeCharts returns all charts of a report on knees.
func KneeCharts(r *record.KneeReport) (out []*chart.Plot) {
	for i := range r.Knees {
		if c := KneeChart(&r.Knees[i]); c != nil {
			out = append(out, c)
		}
	}
	for i := range r.Scalings {
		if c := ScalingChart(&r.Scalings[i]); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// KneeChartName names a chart by its content, scenario, size and backend.
func KneeChartName(what, scenario string, size int, backend string) string {
	return chart.FileName(fmt.Sprintf("%s-%s-%d-%s", what, scenario, size, backend))
}

// KneeChart draws latency over the rate, with the objective and the knee's bounds; nil without latencies.
func KneeChart(k *record.Knee) *chart.Plot {
	at := percentileText(k)
	series := kneeSeries(k)
	p := &chart.Plot{
		Name: KneeChartName("knee", k.Scenario, k.Size, k.Backend), Says: KneeSentence(k),
		Title:  fmt.Sprintf("%s %s on %s: latency over rate", units.Clip(k.Scenario, mentionMax), units.Thousands(int64(k.Size)), units.Clip(k.Backend, mentionMax)),
		X:      chart.Axis{Label: "instances / s", Scale: chart.Linear},
		Y:      chart.Axis{Label: "latency", Scale: chart.Log, Unit: units.Nanoseconds},
		Method: fmt.Sprintf("Open loop: %s arrivals; latency from the intended times. Large markers are medians over the runs at a rate, small ones single runs.", k.Arrivals),
		Series: series,
	}
	if p.Empty() {
		return nil
	}
	if len(k.Objectives) > 0 {
		p.Rules = []chart.Rule{{At: float64(k.Objectives[0].MostNS), Name: "objective: " + at}}
	}
	if k.Kind == "found" {
		p.Bands = []chart.Band{{From: *k.HoldsPerS, To: *k.BreaksPerS, Name: "knee"}}
	}
	return p
}

// kneeSeries are single runs, medians of the asked percentile and of p50, closed loops, and the rates that were too much.
func kneeSeries(k *record.Knee) []chart.Series {
	at := percentileText(k)
	single := chart.Series{Name: at + ", single runs", Kind: chart.Dots, Style: 5}
	median := chart.Series{Name: at + ", open loop", Kind: chart.Lines}
	p50 := chart.Series{Name: "p50, open loop", Kind: chart.Lines, Style: 1}
	closed := chart.Series{Name: at + ", closed loop", Kind: chart.Lines, Style: 2}
	overload := chart.Series{Name: "overload", Kind: chart.Dots, Style: 6}
	var highest float64
	add := func(s *chart.Series, x, y float64, note string) {
		if y > 0 && !math.IsInf(y, 0) {
			s.Points = append(s.Points, chart.Point{X: x, Y: y, Note: note})
			highest = max(highest, y)
		}
	}
	for i := range k.Points {
		p := &k.Points[i]
		for j := range p.Runs {
			if r := &p.Runs[j]; r.Valid && !r.Overloaded {
				add(&single, p.RatePerS, orNaN(r.AtNS), "")
			}
		}
		note := p.Verdict + ", " + units.Plural(len(p.Runs), "run")
		add(&median, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.AtNS) }), note)
		add(&p50, p.RatePerS, middle(kept(p.Runs), func(r *record.KneeRun) float64 { return orNaN(r.P50NS) }), note)
	}
	loops := slices.Clone(k.Closed)
	slices.SortStableFunc(loops, func(a, b record.KneeRun) int { return cmp.Compare(a.InFlight, b.InFlight) })
	for i := range loops {
		if r := &loops[i]; r.Valid {
			add(&closed, r.AchievedPerS, orNaN(r.AtNS), units.Plural(r.InFlight, "instance")+" in flight")
		}
	}
	for i := range k.Points {
		for _, r := range k.Points[i].Runs {
			if r.Valid && r.Overloaded && highest > 0 { // their latencies depend on how long a run lasts: they stand at the top
				overload.Points = append(overload.Points, chart.Point{X: k.Points[i].RatePerS, Y: highest, Note: "the backlog grew"})
			}
		}
	}
	return []chart.Series{closed, p50, median, single, overload}
}

// kept returns the runs with meaningful latencies: those of an overloaded run depend on its length.
func kept(runs []record.KneeRun) (out []record.KneeRun) {
	for _, r := range runs {
		if r.Valid && !r.Overloaded {
			out = append(out, r)
		}
	}
	return out
}

// ScalingChart draws throughput over the scaled number, with the law and its band; nil without measurements.
func ScalingChart(s *record.Scaling) *chart.Plot {
	p := &chart.Plot{
		Name: KneeChartName("scaling-"+s.What, s.Scenario, s.Size, s.Backend), Says: ScalingSentence(s),
		Title: fmt.Sprintf("%s %s on %s: throughput over %s", units.Clip(s.Scenario, mentionMax), units.Thousands(int64(s.Size)), units.Clip(s.Backend, mentionMax), s.What),
		X:     chart.Axis{Label: s.What, Scale: chart.Linear}, Y: chart.Axis{Label: "instances / s", Scale: chart.Linear},
	}
	runs := chart.Series{Name: "runs", Kind: chart.Dots}
	for _, r := range s.Runs {
		if r.Valid {
			runs.Points = append(runs.Points, chart.Point{X: float64(r.N), Y: r.PerS})
		}
	}
	if len(runs.Points) == 0 {
		return nil
	}
	if l := s.Law; l != nil {
		around := chart.Series{Name: "95 % band", Kind: chart.Area, Style: 4}
		law := chart.Series{Name: "Universal Scalability Law", Kind: chart.Lines, Style: 2}
		for _, pt := range l.Curve {
			around.Points = append(around.Points, chart.Point{X: pt.N, Lo: pt.Lo, Hi: pt.Hi})
			law.Points = append(law.Points, chart.Point{X: pt.N, Y: pt.PerS})
		}
		p.Series = append(p.Series, around, law)
		if v := l.Peak.Value; l.Determined && v != nil {
			p.Rules = []chart.Rule{{At: *v, Upright: true, Name: "peak"}}
		}
	}
	p.Series = append(p.Series, runs)
	return p
}
