package search

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"pulley/sim/cases"
)

// Searches is the result of several searches for a bug, each with its own seeds.
type Searches struct {
	cases.Bug
	Searches int            `json:"searches"`
	Took     []uint64       `json:"took"` // seeds until the violation, of successful searches; sorted
	By       map[string]int `json:"by"`   // number of searches, by violated invariant
	First    *cases.Case    `json:"-"`    // the first case found; nil: none
	Why      []string       `json:"-"`
}

// Times makes n searches. Each has as many seeds as the first, directly after the previous ones.
func (s Search) Times(ctx context.Context, n int) (*Searches, error) {
	out := &Searches{Searches: n, By: map[string]int{}, Bug: cases.Bug{Backend: s.Backend}}
	if bug, ok := cases.BugOf(s.Backend, s.Bug); ok {
		out.Bug = bug
	}
	for range n {
		found, err := s.Do(ctx)
		if err != nil {
			return nil, err
		}
		if found.Bad != nil {
			out.Took = append(out.Took, found.Bad.Seed-s.From+1)
			out.By[cases.InvariantOf(found.Why[0])]++
			if out.First == nil {
				out.First, out.Why = found.Bad, found.Why
			}
		}
		s.From, s.To = s.To+1, s.To+1+(s.To-s.From)
	}
	slices.Sort(out.Took)
	return out, nil
}

// Median returns the median number of seeds, rounded up; zero if at least half of the searches found nothing.
func (s *Searches) Median() uint64 {
	n := s.Searches
	if len(s.Took) <= n/2 {
		return 0
	}
	return (s.Took[(n-1)/2] + s.Took[n/2] + 1) / 2
}

// Wrong names searches that found nothing or violated another invariant than the bug's; "": none.
func (s *Searches) Wrong() string {
	var wrong []string
	if missed := s.Searches - len(s.Took); missed > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d searches found nothing", missed, s.Searches))
	}
	for _, invariant := range slices.Sorted(maps.Keys(s.By)) {
		if !s.FoundBy(invariant) {
			wrong = append(wrong, fmt.Sprintf("%d found %s violated, which is not one of %q", s.By[invariant], invariant, s.Invariants))
		}
	}
	return strings.Join(wrong, "; ")
}

// by names the violated invariants, with counts if there are several.
func (s *Searches) by() string {
	var words []string
	for _, invariant := range slices.Sorted(maps.Keys(s.By)) {
		words = append(words, fmt.Sprintf("%s %d×", invariant, s.By[invariant]))
	}
	if len(words) == 1 {
		return strings.Fields(words[0])[0]
	}
	return strings.Join(words, ", ")
}

// WriteSearches writes a table: how many seeds each took, and which invariants were violated.
func WriteSearches(to io.Writer, all []*Searches) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "design\tbug\tseeds: median\tleast\tmost\tfound by\twhat it is")
	for _, s := range all {
		name, least, median, most := s.Name, "–", "–", "–"
		if name == "" {
			name = "none"
		}
		if n := len(s.Took); n > 0 {
			least, most = fmt.Sprint(s.Took[0]), fmt.Sprint(s.Took[n-1])
		}
		if m := s.Median(); m > 0 {
			median = fmt.Sprint(m)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Backend, name, median, least, most, s.by(), s.What)
	}
	return w.Flush()
}
