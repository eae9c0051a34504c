package verdicts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pulley/internal/plural"
	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

// SimRecord is what a search in simulated worlds left in its folder.
type SimRecord struct {
	// Sim is nil in folders of earlier versions.
	Sim *record.Sim
	// Case is the smallest one that violates an invariant; nil without a violation.
	Case *record.SimCase
	// Drawing is its steps as an SVG, Steps the same as text; empty if nobody drew it.
	Drawing []byte
	Steps   string
	// Coverage is how often each kind of fault met each state, as text.
	Coverage string
}

// Sim lays out the report on a search in simulated worlds: the violation with its space–time diagram first.
func Sim(r *SimRecord, files ...page.File) *page.Page {
	p := &page.Page{Kind: "sim", Tool: "pulley sim", Record: files, Answer: r.answer(), State: r.state()}
	s := r.Sim
	if s != nil {
		p.Tool, p.Repeat = s.Tool.String(), strings.Join(s.Command, " ")
		p.Facts = simFacts(s)
	}
	if c := r.Case; c != nil {
		p.First = r.violation()
		p.Add(page.Section{ID: "steps", Title: "The smallest case, step by step", Lead: "Times are virtual. What each step means is said in docs/simulation.md.",
			Folded: true, Blocks: []page.Block{{Code: r.Steps}}})
		p.Add(page.Section{ID: "case", Title: "The smallest case", Blocks: caseBlocks(c)})
	}
	if s != nil {
		search := page.Section{ID: "searches", Title: "Searches", Lead: "Each seed is a world of its own in virtual time: the design's deciding code, a database, a network and clocks that fail. " +
			"Each step is held against the invariants; at the end nothing fails any more, and all must end.", Blocks: []page.Block{{Table: searchTable(s)}, {Table: repeatTable(s)}}}
		if r.Case == nil {
			p.First = slices.DeleteFunc(search.Blocks, page.Block.Empty)
		} else {
			p.Add(search)
		}
		p.Add(page.Section{ID: "faults", Title: "Faults and what never happened", Blocks: []page.Block{{Table: simFaultTable(s)}, {List: never(s)}}})
	}
	p.Add(page.Section{ID: "coverage", Title: "What each fault met", Folded: true, Blocks: []page.Block{{Code: r.Coverage}}})
	if r.Case != nil && p.Repeat == "" {
		p.Repeat = "pulley sim --replay " + record.SimCaseFile
	}
	return p
}

func (r *SimRecord) violated() *record.SimSearch {
	if r.Sim != nil {
		for i := range r.Sim.Searches {
			if r.Sim.Searches[i].Violation != nil {
				return &r.Sim.Searches[i]
			}
		}
	}
	return nil
}

func (r *SimRecord) answer() string {
	if s := r.violated(); s != nil {
		return fmt.Sprintf("%s violates an invariant in seed %d, after %s.", brief(s.Backend), s.Violation.Seed, units.Plural(s.Seeds, "seed"))
	}
	if c := r.Case; c != nil {
		return fmt.Sprintf("%s violates an invariant in seed %d.", brief(c.Backend), c.Seed)
	}
	if r.Sim == nil {
		return "A search whose folder does not say what it found."
	}
	if n := len(r.Sim.Repeats); n > 0 {
		right := 0
		for _, x := range r.Sim.Repeats {
			if x.Wrong == "" {
				right++
			}
		}
		return fmt.Sprintf("%d of %s ended as they should.", right, units.Plural(n, "planted bug"))
	}
	seeds := 0
	for _, s := range r.Sim.Searches {
		seeds += s.Seeds
	}
	return fmt.Sprintf("No invariant is violated in %s of %s.", units.Plural(seeds, "seed"), plural.Of(len(r.Sim.Searches), "search", "searches"))
}

func (r *SimRecord) state() page.State {
	if r.Case != nil || r.violated() != nil {
		return page.State{Text: "violation: the case below shows it, step by step, and repeats exactly", Mark: page.Bad}
	}
	if r.Sim == nil {
		return page.State{Text: "unknown: an earlier version wrote this folder", Mark: page.Unclear}
	}
	missed := 0
	for _, s := range r.Sim.Searches {
		missed += len(s.Never)
	}
	for _, x := range r.Sim.Repeats {
		if x.Wrong != "" {
			return page.State{Text: "a search did not find what was planted, or found what was not", Mark: page.Bad}
		}
	}
	if missed > 0 {
		return page.State{Text: fmt.Sprintf("no violation, but %s of steps and faults never happened", units.Plural(missed, "kind")), Mark: page.Unclear}
	}
	return page.State{Text: "no violation, and every kind of step and fault happened", Mark: page.Good}
}

func simFacts(s *record.Sim) (out []string) {
	steps, virtual, took := 0, 0.0, 0.0
	for _, x := range s.Searches {
		steps, virtual, took = steps+x.Steps, virtual+x.VirtualSeconds, took+x.Seconds
		out = append(out, x.Backend)
	}
	out = slices.Compact(slices.Sorted(slices.Values(out)))
	if steps > 0 {
		out = append(out, units.Plural(steps, "step"), span(virtual)+" of virtual time", "in "+span(took))
	}
	return out
}

func (r *SimRecord) violation() []page.Block {
	why := []string{r.Case.Why}
	if s := r.violated(); s != nil {
		why = append(why, s.Violation.Why...)
	}
	seen := map[string]bool{"": true}
	why = slices.DeleteFunc(why, func(text string) bool {
		known := seen[text]
		seen[text] = true
		return known
	})
	out := []page.Block{{Heading: "What is violated", List: page.Items(why)}}
	if len(r.Drawing) > 0 {
		return append(out, page.Block{Heading: "The smallest case in space and time", Drawing: &page.Drawing{SVG: r.Drawing, Says: "Space–time diagram: " + r.says()}})
	}
	return append(out, page.Block{Text: "pulley sim --replay " + record.SimCaseFile + " draws the case."})
}

// says is a case in a sentence.
func (r *SimRecord) says() string {
	c := r.Case
	return fmt.Sprintf("%s on %s with %s; %s. The steps are below as text.", units.Plural(len(c.Arrivals), "instance"), units.Plural(c.Engines, "engine"), units.Plural(len(c.Faults), "fault"), c.Why)
}

func caseBlocks(c *record.SimCase) []page.Block {
	facts := []page.Entry{{Name: "design", Text: c.Backend}, {Name: "seed", Text: fmt.Sprint(c.Seed)}, {Name: "engines", Text: fmt.Sprint(c.Engines)}, {Name: "instances", Text: fmt.Sprint(len(c.Arrivals))}}
	if c.Bug != "" {
		facts = append(facts, page.Entry{Name: "planted bug", Text: c.Bug})
	}
	for _, f := range c.Faults {
		facts = append(facts, page.Entry{Name: "fault " + f.Kind, Text: "after " + units.Plural(f.After, "step")})
	}
	facts = append(facts, page.Entry{Name: "see it again", Text: "pulley sim --replay " + record.SimCaseFile})
	program := c.Source
	if len(c.Input) > 0 {
		program += "\ninput " + string(c.Input)
	}
	return []page.Block{{Entries: facts}, {Code: strings.TrimSpace(program)}}
}

func orNone(bug string) string {
	if bug == "" {
		return "none"
	}
	return bug
}

func searchTable(s *record.Sim) *page.Table {
	if len(s.Searches) == 0 {
		return nil
	}
	t := &page.Table{Says: "Searches", Heads: []page.Head{
		{Name: "design", Words: true}, {Name: "planted bug", Words: true}, {Name: "seeds"}, {Name: "steps"}, {Name: "virtual time"}, {Name: "time"}, {Name: "faults"}, {Name: "never happened"}, {Name: "verdict", Words: true},
	}}
	for _, x := range s.Searches {
		faults := 0
		for _, n := range x.Faults {
			faults += n
		}
		verdict := page.Cell{Text: "no violation", Mark: page.Good}
		if x.Violation != nil {
			verdict = page.Cell{Text: fmt.Sprintf("violation in seed %d", x.Violation.Seed), Mark: page.Bad}
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{
			page.Words(x.Backend), page.Words(orNone(x.Bug)), page.Whole(x.Seeds), page.Whole(x.Steps), secondsCell(x.VirtualSeconds), secondsCell(x.Seconds), page.Whole(faults), page.Whole(len(x.Never)), verdict,
		}})
	}
	return t
}

func secondsCell(s float64) page.Cell {
	return page.Figure(&s, span, "")
}

// span is seconds as people read them: hours and minutes of long ones.
func span(seconds float64) string {
	if seconds < 120 {
		return units.Duration(seconds * 1e9)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func repeatTable(s *record.Sim) *page.Table {
	if len(s.Repeats) == 0 {
		return nil
	}
	t := &page.Table{Says: "Seeds until a planted bug was found", Heads: []page.Head{
		{Name: "design", Words: true}, {Name: "planted bug", Words: true}, {Name: "searches"}, {Name: "found in"}, {Name: "seeds", Unit: "median"}, {Name: "verdict", Words: true},
	}}
	for _, x := range s.Repeats {
		verdict := page.Cell{Text: "as it should", Mark: page.Good}
		if x.Wrong != "" {
			verdict = page.Cell{Text: x.Wrong, Mark: page.Bad, Wrap: true}
		}
		median := page.Cell{Text: units.Missing, HasValue: true}
		if x.Found > 0 {
			median = page.Whole(int(x.Median))
		}
		t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{page.Words(x.Backend), page.Words(orNone(x.Bug)), page.Whole(x.Times), page.Whole(x.Found), median, verdict}})
	}
	return t
}

func simFaultTable(s *record.Sim) *page.Table {
	kinds := map[string]bool{}
	for _, x := range s.Searches {
		for kind := range x.Faults {
			kinds[kind] = true
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	t := &page.Table{Says: "Faults by kind", Heads: []page.Head{{Name: "fault", Words: true}}}
	for _, x := range s.Searches {
		t.Heads = append(t.Heads, page.Head{Name: x.Backend, Unit: x.Bug})
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		row := page.Row{Cells: []page.Cell{page.Words(kind)}}
		for _, x := range s.Searches {
			row.Cells = append(row.Cells, page.Whole(x.Faults[kind]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func never(s *record.Sim) (out []page.Item) {
	for _, x := range s.Searches {
		for _, what := range x.Never {
			out = append(out, page.Item{Text: "never: " + what, Where: x.Backend})
		}
	}
	return out
}
