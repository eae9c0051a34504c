package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/reports/page"
	"pulley/reports/record"
	"pulley/reports/units"
)

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
