package simulate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/internal/live"
	"pulley/reports/record"
	"pulley/sim/explore/search"
)

const bugSearches = 10

const searchesMax = 1000

func (o *Cmd) severalTimes() bool { return o.Runs != 0 || o.Bug == "all" }

func (o *Cmd) searchAll(ctx context.Context, c *console.Console, run *live.Run, planned []search.Search) error {
	times := cmp.Or(o.Runs, bugSearches)
	var all []*search.Searches
	for i, s := range planned {
		run.Step(live.Step{What: s.Backend + ", " + orNone(s.Bug), Done: float64(i), Total: float64(len(planned)), Unit: "bugs"})
		found, err := s.Times(ctx, times)
		if err != nil {
			return console.Ended(ctx, err)
		}
		run.Say("%s, %s: found in %d of %d searches, after %d seeds in the median", s.Backend, orNone(s.Bug), len(found.Took), times, found.Median())
		all = append(all, found)
	}
	if err := o.table(c, all); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(s *search.Searches) bool { return mistaken(s) != "" }) {
		return &console.Status{Code: console.ExitFailed}
	}
	return nil
}

func orNone(bug string) string {
	if bug == "" {
		return "no bug"
	}
	return bug
}

// mistaken is empty if the search found the planted bug, or nothing without one.
func mistaken(s *search.Searches) string {
	switch {
	case s.Name != "":
		return s.Wrong()
	case s.First != nil:
		return fmt.Sprintf("%s; see it with: pulley sim --backends %s --seeds %d..%d", s.Why[0], s.Backend, s.First.Seed, s.First.Seed)
	}
	return ""
}

func (o *Cmd) table(c *console.Console, all []*search.Searches) error {
	type row struct {
		*search.Searches
		Median uint64 `json:"median"`
		Wrong  string `json:"wrong,omitempty"`
	}
	var text, wrong strings.Builder
	var rows []row
	var repeats []record.SimRepeats
	for _, s := range all {
		repeats = append(repeats, record.SimRepeats{Backend: s.Backend, Bug: s.Name, Times: s.Searches, Found: len(s.Took), Median: s.Median(), Wrong: mistaken(s)})
		rows = append(rows, row{s, s.Median(), mistaken(s)})
		if w := mistaken(s); w != "" {
			fmt.Fprintf(&wrong, "%s, %s: %s\n", s.Backend, orNone(s.Name), w)
		}
	}
	if err := search.WriteSearches(&text, all); err != nil {
		return err
	}
	if err := o.report(c, &record.Sim{Repeats: repeats}); err != nil {
		return err
	}
	return c.PrintAs(o.FormatFlag, rows, text.String()+wrong.String())
}
