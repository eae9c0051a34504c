package simulate

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"pulley/cmd/pulley/console"
	"pulley/sim/cases"
	"pulley/sim/explore"
	"pulley/sim/explore/search"
)

// bugSearches is how many searches there are for each of all bugs, unless it is said.
const bugSearches = 10

// searchesMost bounds them.
const searchesMost = 1000

// severalTimes says whether there are to be several searches, and what came of each is told in a table.
func (o *Cmd) severalTimes() bool { return o.Searches != 0 || o.Bug == "all" }

// planned gives the searches: for each bug, the first of several.
func (o *Cmd) planned(c *console.Console) (planned []search.Search, err error) {
	switch {
	case o.Searches < 0 || o.Searches > searchesMost:
		return nil, fmt.Errorf("--searches is %d; choose from 1 to %d", o.Searches, searchesMost)
	case o.Twice:
		return nil, errors.New("--twice is for one search; leave it or --searches out")
	}
	if o.Scenario != "" { // once for all
		if o.mix, err = o.searched(c); err != nil {
			return nil, console.Refuse(err)
		}
	}
	backends := []string{o.Backend}
	if o.Backend == "all" {
		backends = explore.Backends()
	}
	for _, b := range backends {
		one := *o
		one.Backend = b
		names := []string{o.Bug}
		if o.Bug == "all" {
			names = nil
			for _, bug := range cases.Bugs(b) {
				names = append(names, bug.Name)
			}
		}
		for _, name := range names {
			one.Bug = name
			s, err := one.search(c)
			if err != nil {
				return nil, err
			}
			planned = append(planned, s)
		}
	}
	return planned, nil
}

// searchAll makes several searches for each bug, and tells how many seeds they took.
func (o *Cmd) searchAll(c *console.Console) error {
	planned, err := o.planned(c)
	if err != nil {
		return err
	}
	ctx, stop := console.Interruptible()
	defer stop()
	debug.SetGCPercent(800) // worlds are small and short
	times := cmp.Or(o.Searches, bugSearches)
	var all []*search.Searches
	for _, s := range planned {
		s.Progress = nil
		found, err := s.Times(ctx, times)
		if err != nil {
			return console.Ended(ctx, err)
		}
		c.Say("%s, %s: found in %d of %d searches, after %d seeds in the median", s.Backend, orNone(s.Bug), len(found.Took), times, found.Median())
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

// mistaken says what is not as it should be: a bug is to be found, and without one nothing is.
func mistaken(s *search.Searches) string {
	switch {
	case s.Name != "":
		return s.Wrong()
	case s.First != nil:
		return fmt.Sprintf("%s; see it with: pulley sim --backend %s --seeds %d..%d", s.Why[0], s.Backend, s.First.Seed, s.First.Seed)
	}
	return ""
}

// table prints what searches came to.
func (o *Cmd) table(c *console.Console, all []*search.Searches) error {
	if o.Format == "json" {
		type row struct {
			*search.Searches
			Median uint64 `json:"median"`
			Wrong  string `json:"wrong,omitempty"`
		}
		var rows []row
		for _, s := range all {
			rows = append(rows, row{s, s.Median(), mistaken(s)})
		}
		text, err := json.MarshalIndent(rows, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(c.Out, "%s\n", text)
		}
		return err
	}
	if err := search.WriteSearches(c.Out, all); err != nil {
		return err
	}
	var wrong []string
	for _, s := range all {
		if w := mistaken(s); w != "" {
			wrong = append(wrong, fmt.Sprintf("%s, %s: %s\n", s.Backend, orNone(s.Name), w))
		}
	}
	_, err := fmt.Fprint(c.Out, strings.Join(wrong, ""))
	return err
}
