package changes

import (
	"fmt"
	"slices"
	"strings"

	"pulley/bench/gate"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// Beside lays out two records of comparisons side by side: what changed first, with the gate's decision, then how the quantiles of
// latency shift, then the facts in which the records differ.
func Beside(candidate, baseline string, after, before []gate.Run, files ...page.File) (*page.Page, error) {
	decided, err := gate.Judge(gate.FromRuns(baseline, before), gate.FromRuns(candidate, after), gate.Options{})
	if err != nil {
		return nil, err
	}
	p := Gate(decided, files...)
	p.Kind, p.Tool = "report", after[0].Manifest.Tool.String()
	p.Repeat = strings.Join(commands(before, after, baseline, candidate), "\n")
	facts := differing(before[0].Manifest, after[0].Manifest)
	middle := []page.Section{shiftSection(decided, before, after), facts}
	at := slices.IndexFunc(p.Sections, func(s page.Section) bool { return s.ID == "lines" })
	if at < 0 {
		at = len(p.Sections)
	}
	tail := slices.Clone(p.Sections[at:])
	p.Sections = p.Sections[:at]
	for _, s := range append(middle, tail...) {
		p.Add(s)
	}
	return p, nil
}

// commands make both records again, and the decision.
func commands(before, after []gate.Run, baseline, candidate string) (out []string) {
	for _, runs := range [][]gate.Run{before, after} {
		for _, r := range runs {
			if line := strings.Join(r.Manifest.Command, " "); line != "" && !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	return append(out, fmt.Sprintf("pulley gate %s %s", baseline, candidate))
}

// differing are the facts that the two records do not share: program, machine, server, settings, load.
func differing(before, after *record.Manifest) page.Section {
	s := page.Section{ID: "facts", Title: "In what the records differ", Lead: "Program, machine, server and load. What both have alike is not listed; each record's manifest.json has it."}
	a, b := facts(before), facts(after)
	t := &page.Table{Says: "Facts that differ", Heads: []page.Head{{Name: "fact", Words: true}, {Name: "baseline", Words: true}, {Name: "candidate", Words: true}}}
	for _, name := range namesOf(a, b) {
		if x, y := a.of[name], b.of[name]; x != y {
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(name), wrapped(x), wrapped(y)}})
		}
	}
	if len(t.Rows) == 0 {
		s.Blocks = []page.Block{{Text: "In nothing: program, machine, server, settings and load are the same."}}
		return s
	}
	s.Blocks = []page.Block{{Table: t}}
	return s
}

func wrapped(text string) page.Cell {
	if text == "" {
		text = units.Missing
	}
	return page.Cell{Text: text, Wrap: true}
}

type factList struct {
	names []string
	of    map[string]string
}

func (f *factList) add(name, value string) {
	if _, known := f.of[name]; !known {
		f.names = append(f.names, name)
	}
	f.of[name] = value
}

func namesOf(a, b *factList) []string {
	out := slices.Clone(a.names)
	for _, name := range b.names {
		if _, known := a.of[name]; !known {
			out = append(out, name)
		}
	}
	return out
}

func facts(m *record.Manifest) *factList {
	f := &factList{of: map[string]string{}}
	f.add("program", m.Tool.String())
	f.add("machine", m.Host.Fingerprint())
	if p := m.Postgres; p != nil {
		f.add("Postgres", p.Version)
		f.add("Postgres, had by", p.Way)
		for _, s := range p.Settings {
			f.add("setting "+s.Name, s.Value)
		}
	}
	f.add("scenarios", strings.Join(m.Scenarios, ", "))
	f.add("sizes", strings.Trim(fmt.Sprint(m.Sizes), "[]"))
	f.add("backends", strings.Join(m.Backends, ", "))
	f.add("repetitions", fmt.Sprint(m.Runs))
	f.add("order of runs", m.Order)
	f.add("seed", fmt.Sprint(m.Seed))
	for _, c := range m.Cases {
		f.add(fmt.Sprintf("workload %s %d", c.Scenario, c.Size), fmt.Sprintf("%d nodes %s", c.Nodes, c.Source))
	}
	for _, s := range m.Systems {
		f.add("system "+s.Name, s.System+" "+s.Version)
		for name, value := range s.Settings {
			f.add("system "+s.Name+", "+name, value)
		}
		for _, c := range s.Chosen {
			f.add(fmt.Sprintf("system %s, chosen for %s %d, %s", s.Name, c.Scenario, c.Size, c.Mode), fmt.Sprintf("%d slots %v", c.Slots, c.Settings))
		}
	}
	f.add("interrupted", map[bool]string{true: "yes", false: ""}[m.Interrupted])
	return f
}
