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
	chosen := &page.Table{Says: "What the search chose", Heads: []page.Head{
		{Name: "name", Words: true}, {Name: "runs of", Words: true}, {Name: "tasks at once"}, {Name: "other settings", Words: true}, {Name: "tried", Unit: "runs"}, {Name: "best", Unit: "nodes/s"},
	}}
	for _, s := range systems {
		about.Rows = append(about.Rows, page.Row{Cells: []page.Cell{
			page.Words(s.Name), page.Words(s.System), page.Words(s.Version), {Text: settingsText(s.Settings), Wrap: true}, {Text: strings.Join(s.Command, " "), Wrap: true}, {Text: strings.Join(s.Documentation, ", "), Wrap: true},
		}})
		for _, c := range s.Chosen {
			of := (&family{scenario: c.Scenario}).label(c.Size)
			if c.Mode != "" {
				of += ", " + c.Mode
			}
			chosen.Rows = append(chosen.Rows, page.Row{Cells: []page.Cell{
				page.Words(s.Name), page.Words(of), page.Whole(c.Slots), {Text: settingsText(c.Settings), Wrap: true}, page.Whole(c.Tried), page.Figure(&c.NodesPerS, units.Number, ""),
			}})
		}
	}
	out := []page.Block{{Heading: "Systems behind adapters", Table: about}}
	if len(chosen.Rows) > 0 {
		return append(out, page.Block{Heading: "What the search found to be fastest", Table: chosen})
	}
	return append(out, page.Block{Text: "Nothing was searched: each system ran with the settings that are named."})
}

func settingsText(settings map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		out = append(out, fmt.Sprintf("%s=%s", name, settings[name]))
	}
	if len(out) == 0 {
		return "the adapter's own"
	}
	return strings.Join(out, ", ")
}
