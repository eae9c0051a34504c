package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

const noMethod = "No method was recorded for this figure."

func (v *view) method(figure string) string {
	for _, m := range v.manifest.Methods {
		if m.Figure == figure {
			return m.Text
		}
	}
	return noMethod
}

func entry(name, text string) page.Entry { return page.Entry{Name: name, Text: text} }

var figureNames = []page.Entry{
	entry("nodes_per_s", "nodes/s, time per node"), entry("hop_ns", "hop latency"), entry("instance_ns", "instance latency"),
	entry("rows_read_per_node", "rows read per node"), entry("statements_per_node", "statements per node"),
	entry("commits_per_node", "commits per node"), entry("wal_bytes_per_node", "WAL per node"), entry("hot_share", "changes that touched no index"),
	entry("lock_wait_share", "time in transactions spent waiting for rows"), entry("valid", "valid"),
}

// ceilingNames are shown only if ceilings were measured.
var ceilingNames = []page.Entry{entry("ceiling_fraction", "fraction of the ceiling"), entry("ceilings", "ceilings"), entry("idle", "on one idle connection")}

func (v *view) methods() []page.Entry {
	var out []page.Entry
	names := figureNames
	if v.summary.Ceilings != nil {
		names = append(slices.Clone(names), ceilingNames...)
	}
	if len(v.stageNames()) > 0 {
		names = append(slices.Clone(names), entry("stages", "processor time by stage"))
	}
	for _, f := range names {
		out = append(out, entry(f.Text, v.method(f.Name)))
	}
	for _, m := range v.manifest.Methods {
		if !slices.ContainsFunc(names, func(f page.Entry) bool { return f.Name == m.Figure }) {
			out = append(out, entry(m.Figure, m.Text))
		}
	}
	return append(out,
		entry("intervals", "Beneath nodes/s: the interval in which the median lies with 95 % confidence, by order statistics over "+
			"runs, or the range where a warning says that there were too few of them. Beneath other figures: the range over runs."),
		entry("ratios", "Median of the one divided by the median of the other, at the same scenario and size. In brackets, where "+
			"single runs were recorded, the lowest and highest ratio of two runs with the same number, which were neighbours in time."))
}

func (v *view) facts() []string {
	m := v.manifest
	out := setup(m.StartedAt, m.Postgres, m.Host)
	if m.Runs > 0 {
		out = append(out, strings.TrimSpace(units.Plural(m.Runs, "repetition")+" "+inOrder(m.Order)))
	}
	if len(out) == 0 {
		out = append(out, "Nothing is known of how this was run: there was no manifest.")
	}
	return out
}

// setup is when and on what something was measured, each a few words; the section on methods has it whole.
func setup(at time.Time, p *record.Postgres, h record.Host) []string {
	var out []string
	if !at.IsZero() {
		out = append(out, at.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if p != nil {
		version, _, _ := strings.Cut(p.Version, " ")
		out = append(out, "Postgres "+units.Clip(version, mentionMax)+", "+durability(p.Setting("fsync"), p.Setting("synchronous_commit")))
	}
	if h.OS != "" {
		out = append(out, strings.TrimSpace(units.Plural(h.Cores, "core")+" "+units.Clip(h.CPU, mentionMax)))
	}
	return out
}

func inOrder(order string) string {
	if order == "" {
		return ""
	}
	return "in " + order + " order"
}

func durability(fsync, synchronousCommit string) string {
	switch {
	case fsync == "" || synchronousCommit == "":
		return "durability settings not recorded"
	case fsync == "on" && synchronousCommit != "off":
		return "durable"
	}
	return fmt.Sprintf("NOT DURABLE (fsync %s, synchronous_commit %s)", fsync, synchronousCommit)
}

func (v *view) run() []page.Entry {
	m := v.manifest
	var out []page.Entry
	add := func(name, text string) {
		if text != "" {
			out = append(out, entry(name, text))
		}
	}
	add("command", strings.Join(m.Command, " "))
	add("program", v.tool())
	if !m.StartedAt.IsZero() {
		text := units.Instant(m.StartedAt) + " to " + units.Instant(m.EndedAt)
		if m.EndedAt.After(m.StartedAt) {
			text += fmt.Sprintf(", %v", m.EndedAt.Sub(m.StartedAt).Round(100*time.Millisecond))
		}
		add("time", text)
	}
	if m.Interrupted {
		add("interrupted", "yes: some repetitions are missing")
	}
	add("machine", v.machine())
	if p := m.Postgres; p != nil {
		add("Postgres", p.Version)
		add("had by", p.Way)
	}
	add("backends", strings.Join(m.Backends, ", "))
	add("scenarios", strings.Join(m.Scenarios, ", "))
	var sizes []string
	for _, s := range m.Sizes {
		sizes = append(sizes, units.Thousands(int64(s)))
	}
	add("sizes", strings.Join(sizes, "; "))
	if m.Runs > 0 {
		add("repetitions", units.Thousands(int64(m.Runs)))
		add("order of runs", m.Order)
		add("seed", fmt.Sprint(m.Seed))
	}
	return out
}

func (v *view) machine() string {
	h := v.manifest.Host
	if h.OS == "" {
		return ""
	}
	parts := []string{units.Plural(h.Cores, "core")}
	if h.CPU != "" {
		parts = append(parts, h.CPU)
	}
	if h.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f GiB of memory", float64(h.MemoryBytes)/(1<<30)))
	}
	return strings.Join(append(parts, h.OS+"/"+h.Arch), ", ")
}

func (v *view) settings() []page.Entry {
	if v.manifest.Postgres == nil {
		return nil
	}
	var out []page.Entry
	for _, s := range v.manifest.Postgres.Settings {
		out = append(out, entry(s.Name, s.Value))
	}
	return out
}

func (v *view) tool() string { return v.manifest.Tool.String() }

// systemBlocks are the systems behind adapters: versions, settings, and what the search chose. There are none without systems.
func systemBlocks(systems []record.System) []page.Block {
	if len(systems) == 0 {
		return nil
	}
	about := &page.Table{Says: "Systems behind adapters", Heads: []page.Head{
		{Name: "name", Words: true}, {Name: "system", Words: true}, {Name: "version", Words: true}, {Name: "settings of all runs", Words: true}, {Name: "adapter", Words: true}, {Name: "documentation", Words: true},
	}}
	chosen := &page.Table{Says: "A dash: nothing was searched, the tasks at once and the settings are those that were given", Heads: []page.Head{
		{Name: "name", Words: true}, {Name: "runs of", Words: true}, {Name: "tasks at once"}, {Name: "other settings", Words: true}, {Name: "search", Unit: "runs"}, {Name: "best", Unit: "nodes/s"},
	}}
	for _, s := range systems {
		about.Rows = append(about.Rows, page.Row{Cells: []page.Cell{
			page.Words(s.Name), page.Words(s.System), page.Words(s.Version), {Text: settingsText(s.Settings, "the adapter's own"), Wrap: true}, {Text: strings.Join(s.Command, " "), Wrap: true}, {Text: strings.Join(s.Documentation, ", "), Wrap: true},
		}})
		for _, c := range s.Chosen {
			of := (&family{scenario: c.Scenario}).label(c.Size)
			if c.Mode != "" {
				of += ", " + c.Mode
			}
			best := &c.NodesPerS
			if c.Tried == 0 {
				best = nil // nothing was searched
			}
			chosen.Rows = append(chosen.Rows, page.Row{Cells: []page.Cell{
				page.Words(s.Name), page.Words(of), page.Whole(c.Slots), {Text: settingsText(c.Settings, "none"), Wrap: true}, page.Whole(c.Tried), page.Figure(best, units.Number, ""),
			}})
		}
	}
	out := []page.Block{{Heading: "Systems behind adapters", Table: about}}
	if len(chosen.Rows) > 0 {
		out = append(out, page.Block{Heading: "What each ran with, and how many runs the search for the fastest took", Table: chosen})
	}
	return out
}

func settingsText(settings map[string]string, none string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		out = append(out, fmt.Sprintf("%s=%s", name, settings[name]))
	}
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, ", ")
}
