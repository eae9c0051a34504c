package page

import (
	"slices"

	"pulley/reports/units"
)

// Empty reports that a block has nothing to show.
func (b Block) Empty() bool {
	return b.Text == "" && len(b.Charts) == 0 && b.Table == nil && b.Heat == nil && len(b.List) == 0 && b.Code == "" && len(b.Entries) == 0 && b.Drawing == nil
}

// Add adds a section without its empty blocks, if any block is left.
func (p *Page) Add(s Section) {
	s.Blocks = slices.DeleteFunc(s.Blocks, Block.Empty)
	if len(s.Blocks) > 0 {
		p.Sections = append(p.Sections, s)
	}
}

// Items returns sentences as a list.
func Items(texts []string) (out []Item) {
	for _, text := range texts {
		out = append(out, Item{Text: text})
	}
	return out
}

// Whole returns a cell of a number of things.
func Whole(n int) Cell {
	v := float64(n)
	return Cell{Text: units.Thousands(int64(n)), Value: &v, HasValue: true}
}
