package reports

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"pulley/reports/record"
	"pulley/reports/units"
)

// WriteKneeText writes a knee report for a terminal: of each knee the answer, the curve, the closed loops and the check; of
// each scaling the law and its runs.
func WriteKneeText(w io.Writer, r *record.KneeReport) error {
	var b bytes.Buffer
	for i := range r.Knees {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeKnee(&b, &r.Knees[i])
	}
	for i := range r.Scalings {
		if i+len(r.Knees) > 0 {
			b.WriteByte('\n')
		}
		writeScaling(&b, &r.Scalings[i])
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func writeKnee(b *bytes.Buffer, k *record.Knee) {
	fmt.Fprintln(b, units.Printable(KneeSentence(k)))
	for _, o := range k.Objectives {
		if o.Source != "" {
			fmt.Fprintf(b, "%s: %s.\n", objectiveText(o), units.Printable(o.Source))
		}
	}
	if k.Why != "" && k.Kind == "found" {
		fmt.Fprintf(b, "The interval is wide: %s.\n", units.Printable(k.Why))
	}
	if len(k.Points) > 0 {
		t := columns{left: map[int]bool{7: true}}
		t.add("rate/s", "runs", "offered/s", "achieved/s", "p50", percentileText(k), "backlog", "verdict")
		for i := range k.Points {
			p := &k.Points[i]
			t.add(units.Number(p.RatePerS), units.Thousands(int64(len(p.Runs))),
				units.Number(middle(p.Runs, func(r *record.KneeRun) float64 { return r.OfferedPerS })),
				units.Number(middle(p.Runs, func(r *record.KneeRun) float64 { return r.AchievedPerS })),
				timeText(middle(p.Runs, func(r *record.KneeRun) float64 { return orNaN(r.P50NS) })),
				timeText(middle(p.Runs, func(r *record.KneeRun) float64 { return orNaN(r.AtNS) })),
				units.Thousands(int64(middle(p.Runs, func(r *record.KneeRun) float64 { return float64(r.Backlog) }))), verdictText(p))
		}
		fmt.Fprintf(b, "\nOpen loop, %s arrivals; latencies from the intended times, medians over the runs\n", k.Arrivals)
		t.write(b)
	}
	if len(k.Closed) > 0 {
		t := columns{left: map[int]bool{4: true}}
		t.add("in flight", "ended/s", "p50", percentileText(k), "")
		for i := range k.Closed {
			r := &k.Closed[i]
			t.add(units.Thousands(int64(r.InFlight)), units.Number(r.AchievedPerS), timeText(orNaN(r.P50NS)), timeText(orNaN(r.AtNS)), r.What+invalidText(r))
		}
		b.WriteString("\nClosed loops\n")
		t.write(b)
	}
	writeCheck(b, k)
}

func writeCheck(b *bytes.Buffer, k *record.Knee) {
	c := k.Check
	if c == nil || c.Below == nil && c.Above == nil {
		return
	}
	b.WriteString("\nCheck\n")
	if r := c.Below; r != nil {
		fmt.Fprintf(b, "  at %.0f %% of the knee, %s/s: %s", 100*c.BelowShare, units.Number(r.AskedPerS), runText(k, r))
		if c.Ratio != nil {
			fmt.Fprintf(b, "; %s that of a closed loop with %d in flight, which does %s/s", units.Times(*c.Ratio), c.Closed.InFlight, units.Number(c.Closed.AchievedPerS))
		}
		b.WriteByte('\n')
	}
	if r := c.Above; r != nil {
		fmt.Fprintf(b, "  at %.0f %% of the knee, %s/s: %s\n", 100*c.AboveShare, units.Number(r.AskedPerS), aboveText(k, r))
	}
}

// Overload is a growing backlog, or a broken objective.
func aboveText(k *record.Knee, r *record.KneeRun) string {
	switch {
	case r.Overloaded || !r.Valid || r.AtNS == nil:
		return runText(k, r)
	case r.Vote < 0:
		return "overload: the backlog does not grow, but the objective breaks: " + runText(k, r)
	}
	return "no overload: the objective holds: " + runText(k, r)
}

func runText(k *record.Knee, r *record.KneeRun) string {
	switch {
	case r.Overloaded:
		return fmt.Sprintf("overload: %s/s ended, and the backlog was %s", units.Number(r.AchievedPerS), units.Thousands(int64(r.Backlog))) + invalidText(r)
	case r.AtNS == nil:
		return "no latency" + invalidText(r)
	}
	return percentileText(k) + " " + timeText(float64(*r.AtNS)) + invalidText(r)
}

// KneeSentence states a search's answer.
func KneeSentence(k *record.Knee) string {
	var bounds []string
	for _, o := range k.Objectives {
		bounds = append(bounds, objectiveText(o))
	}
	what, of := units.List(bounds), fmt.Sprintf("%s %s on %s", k.Scenario, units.Thousands(int64(k.Size)), k.Backend)
	holds := "hold"
	if len(bounds) == 1 {
		holds = "holds"
	}
	switch {
	case k.Kind == "found":
		return fmt.Sprintf("%s: %s %s up to %s instances/s (%s node runs/s), and breaks at %s, %s above.", of, what, holds,
			units.Number(*k.HoldsPerS), units.Number(*k.HoldsPerS*float64(k.Nodes)), units.Number(*k.BreaksPerS), units.Percent(*k.BreaksPerS / *k.HoldsPerS - 1))
	case k.Kind == "never":
		return fmt.Sprintf("%s: %s %s at no rate: it breaks at %s instances/s, the lowest that was tried.", of, what, holds, units.Number(*k.BreaksPerS))
	case k.Kind == "always":
		return fmt.Sprintf("%s: %s %s at %s instances/s, the highest that was tried; there is no knee below.", of, what, holds, units.Number(*k.HoldsPerS))
	}
	known := ""
	switch {
	case k.HoldsPerS != nil:
		known = fmt.Sprintf(" it holds at %s instances/s;", units.Number(*k.HoldsPerS))
	case k.BreaksPerS != nil:
		known = fmt.Sprintf(" it breaks at %s instances/s;", units.Number(*k.BreaksPerS))
	}
	if what != "" {
		what = " where " + what + " breaks"
	}
	return fmt.Sprintf("%s: undecided%s:%s %s.", of, what, known, k.Why)
}

func objectiveText(o record.KneeObjective) string {
	return fmt.Sprintf("%s < %s", record.PercentileName(o.Percentile), units.Duration(float64(o.MostNS)))
}

func percentileText(k *record.Knee) string {
	if len(k.Objectives) == 0 {
		return "p99"
	}
	return record.PercentileName(k.Objectives[0].Percentile)
}

func verdictText(p *record.KneePoint) string {
	overloaded, invalid := 0, 0
	for i := range p.Runs {
		switch r := &p.Runs[i]; {
		case !r.Valid:
			invalid++
		case r.Overloaded:
			overloaded++
		}
	}
	text := p.Verdict
	if p.Verdict == "breaks" && overloaded > 0 {
		text += ": overload"
	}
	if invalid > 0 {
		text += fmt.Sprintf(" (%s invalid: %s)", units.Thousands(int64(invalid)), strings.Join(record.InvalidKinds(p.Runs...), ", "))
	}
	return text
}

func invalidText(r *record.KneeRun) string {
	if r.Valid {
		return ""
	}
	return " (invalid: " + strings.Join(record.InvalidKinds(*r), ", ") + ")"
}

// middle is the median of a figure over the valid runs, or over all if none is. NaN counts as longest.
func middle(runs []record.KneeRun, of func(*record.KneeRun) float64) float64 {
	var values []float64
	some := slices.ContainsFunc(runs, func(r record.KneeRun) bool { return r.Valid })
	for i := range runs {
		if r := &runs[i]; r.Valid || !some {
			v := of(r)
			if math.IsNaN(v) {
				v = math.Inf(1)
			}
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func orNaN(ns *int64) float64 {
	if ns == nil {
		return math.NaN()
	}
	return float64(*ns)
}

func timeText(ns float64) string {
	if math.IsNaN(ns) || math.IsInf(ns, 0) {
		return units.Missing
	}
	return units.Duration(ns)
}

func writeScaling(b *bytes.Buffer, s *record.Scaling) {
	fmt.Fprintln(b, units.Printable(ScalingSentence(s)))
	t := columns{}
	t.add(s.What, "runs", "instances/s", "least", "most", "of the law")
	byN := map[int][]float64{}
	var numbers []int
	for _, r := range s.Runs {
		if byN[r.N] == nil {
			numbers = append(numbers, r.N)
			byN[r.N] = []float64{}
		}
		if r.Valid {
			byN[r.N] = append(byN[r.N], r.PerS)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		rates := byN[n]
		if len(rates) == 0 {
			t.add(units.Thousands(int64(n)), "0", units.Missing, units.Missing, units.Missing, units.Missing)
			continue
		}
		slices.Sort(rates)
		mid := (rates[(len(rates)-1)/2] + rates[len(rates)/2]) / 2
		law := units.Missing
		if s.Law != nil {
			law = units.Percent(mid / lawAt(s.Law, float64(n)))
		}
		t.add(units.Thousands(int64(n)), units.Thousands(int64(len(rates))), units.Number(mid), units.Number(rates[0]), units.Number(rates[len(rates)-1]), law)
	}
	t.write(b)
	if l := s.Law; l != nil {
		fmt.Fprintf(b, "X(N) = λN/(1 + σ(N−1) + κN(N−1)): λ = %s, σ = %s, κ = %s; standard error %s instances/s\n",
			estimateText(l.LambdaPerS), estimateText(l.Sigma), estimateText(l.Kappa), units.Number(l.ErrorPerS))
	}
	for _, w := range s.Warnings {
		fmt.Fprintf(b, "Note: %s\n", units.Printable(w))
	}
}

func lawAt(l *record.ScalingLaw, n float64) float64 {
	return *l.LambdaPerS.Value * n / (1 + *l.Sigma.Value*(n-1) + *l.Kappa.Value*n*(n-1))
}

// ScalingSentence states a scaling's result.
func ScalingSentence(s *record.Scaling) string {
	of := fmt.Sprintf("%s %s on %s, %s", s.Scenario, units.Thousands(int64(s.Size)), s.Backend, s.What)
	switch l := s.Law; {
	case l == nil:
		return of + ": no law could be fitted."
	case l.Determined && l.Peak.Value != nil:
		return fmt.Sprintf("%s: throughput is highest at %s, with %s instances/s.", of, estimateText(l.Peak), estimateText(l.HighestPerS))
	case l.HighestPerS.Value != nil:
		return fmt.Sprintf("%s: no peak is shown; the law gives %s instances/s at most.", of, estimateText(l.HighestPerS))
	default:
		return of + ": no bound is shown."
	}
}

func estimateText(e record.Estimate) string {
	end := func(v *float64) string {
		if v == nil {
			return "∞"
		}
		return units.Number(*v)
	}
	return fmt.Sprintf("%s [%s, %s]", end(e.Value), end(e.Lo), end(e.Hi))
}
