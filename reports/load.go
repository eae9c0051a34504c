package reports

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"pulley/reports/record"
	"pulley/reports/units"
)

// WriteLoadText writes a run under load as tables for a terminal.
func WriteLoadText(w io.Writer, l *record.Load) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n", units.Printable(loadSentence(l)), units.Printable(loadFacts(l)))
	writeLoadTimes(&b, l)
	writeLoadIntervals(&b, l)
	for _, o := range l.Objectives {
		held := "missed"
		if o.Held {
			held = "held"
		}
		fmt.Fprintf(&b, "\nObjective %s ≤ %s: %s, %s\n", record.PercentileName(o.Percentile), units.Duration(float64(o.MostNS)), held, optionalTime(o.ValueNS))
	}
	if len(l.Findings) > 0 {
		b.WriteString("\nAgainst the run:\n")
	}
	for _, f := range l.Findings {
		fmt.Fprintf(&b, "  %s\n", units.Printable(f.Text))
	}
	for _, note := range l.Notes {
		fmt.Fprintf(&b, "\nNote: %s\n", units.Printable(note))
	}
	if _, err := b.WriteTo(w); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

const (
	latencyText = "of an instance: from its intended time to its result"
	serviceText = "of an instance: from its sending to its result"
	lagText     = "of the generator: from the intended time to the sending"
)

func loadSentence(l *record.Load) string {
	figure := fmt.Sprintf("%s latency %s", record.PercentileName(l.Asked.Percentile), optionalTime(l.Asked.ValueNS))
	switch a := l.Asked; {
	case a.LoNS != nil && a.HiNS == nil:
		figure += fmt.Sprintf(" [at least %s]", optionalTime(a.LoNS))
	case a.LoNS != nil:
		figure += fmt.Sprintf(" [%s, %s]", optionalTime(a.LoNS), optionalTime(a.HiNS))
	}
	rates := fmt.Sprintf("%s instances/s asked for, %s sent, %s ended", units.Number(l.AskedPerS), units.Number(l.OfferedPerS), units.Number(l.AchievedPerS))
	switch {
	case l.Valid:
		return fmt.Sprintf("%s at %s", figure, rates)
	case l.Overloaded:
		return fmt.Sprintf("OVERLOAD: %s; its latencies depend on how long it lasts", rates)
	}
	return fmt.Sprintf("INVALID, this run decides nothing: %s. It showed %s at %s", l.Findings[0].Text, figure, rates)
}

func loadFacts(l *record.Load) string {
	how := "fixed"
	switch {
	case l.Phases.Detected && l.Phases.Settled:
		how = "found"
	case l.Phases.Detected:
		how = "its end was not found"
	}
	facts := []string{
		fmt.Sprintf("%s %d on %s", l.Scenario, l.Size, l.Backend), l.Arrivals,
		fmt.Sprintf("%s, %s each", units.Plural(l.Engines, "engine"), units.Plural(l.Workers, "worker")),
		fmt.Sprintf("warm-up %s (%s), measured %s, drained %s", units.Duration(float64(l.Phases.WarmUpNS)), how,
			units.Duration(float64(l.Phases.MeasureNS-l.Phases.WarmUpNS)), units.Duration(float64(l.Phases.DrainNS-l.Phases.MeasureNS))),
		loadCounts(l.Measured),
		fmt.Sprintf("rate error %s", units.Percent(l.Pace.RateError)),
	}
	return strings.Join(facts, " · ")
}

func loadCounts(c record.LoadCounts) string {
	return fmt.Sprintf("%s measured: %s late, %s dropped, %s unfinished", units.Plural(c.Intended, "instance"), units.Thousands(int64(c.Late)), units.Thousands(int64(c.Dropped)), units.Thousands(int64(c.Unfinished)))
}

func writeLoadTimes(b *bytes.Buffer, l *record.Load) {
	t := columns{left: map[int]bool{0: true, 8: true}}
	t.add("", "count", "mean", "p50", "p90", "p99", "p99.9", "max", "")
	row := func(name, text string, v record.LoadTimes) {
		t.add(name, units.Thousands(int64(v.Count)), optionalTime(v.MeanNS), optionalTime(v.P50), optionalTime(v.P90), optionalTime(v.P99), optionalTime(v.P999), optionalTime(v.Max), text)
	}
	row("latency", latencyText, l.LatencyNS)
	row("service time", serviceText, l.ServiceNS)
	row("lag", lagText, l.LagNS)
	for _, s := range l.Stages {
		row(s.Name, s.Text, s.NS)
	}
	b.WriteByte('\n')
	t.write(b)
}

// intervalRowsMax bounds the table of intervals; it omits neighbours of longer ones.
const intervalRowsMax = 40

func writeLoadIntervals(b *bytes.Buffer, l *record.Load) {
	t := columns{left: map[int]bool{}}
	head := []string{"from", "intended", "sent", "dropped", "ended", "backlog", "p50", "p99"}
	for _, s := range l.Stages {
		head = append(head, s.Name)
	}
	t.left[len(head)] = true
	t.add(append(head, "")...)
	step := (len(l.Intervals) + intervalRowsMax - 1) / intervalRowsMax
	for i := 0; i < len(l.Intervals); i += step {
		v := l.Intervals[i]
		cells := []string{strconv.FormatFloat(float64(v.FromNS)/float64(time.Second), 'f', -1, 64) + " s"}
		for _, n := range []int{v.Intended, v.Offered, v.Dropped, v.Achieved, v.Backlog} {
			cells = append(cells, units.Thousands(int64(n)))
		}
		cells = append(cells, optionalTime(v.P50NS), optionalTime(v.P99NS))
		for _, s := range v.StageP50s {
			cells = append(cells, optionalTime(s))
		}
		phase := ""
		if !v.Measured {
			phase = "warm-up"
		}
		t.add(append(cells, phase)...)
	}
	fmt.Fprintf(b, "\nIntervals of %s", units.Duration(float64(l.Phases.SpanNS)))
	if step > 1 {
		fmt.Fprintf(b, ", one in %d", step)
	}
	b.WriteString("; stages are medians\n")
	t.write(b)
}

func optionalTime(ns *int64) string {
	if ns == nil {
		return units.Missing
	}
	return units.Duration(float64(*ns))
}
