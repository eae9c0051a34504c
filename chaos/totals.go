package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pulley/chaos/fault"
)

// Goal is something that must happen often enough over many runs.
type Goal string

// The goals.
const (
	Cuts       Goal = "cuts" // of connections, singly or all at once
	Kills      Goal = "kills"
	Terminated Goal = "terminated" // sessions ended by the server
	Crashes    Goal = "crashes"    // of the server, without a checkpoint
	Lost       Goal = "lost"       // applied commits whose reply was lost
)

// goalOf says which goal a kind of fault counts for.
var goalOf = map[string]Goal{
	"wire.cut": Cuts, "wire.reset": Cuts, "wire.drop": Cuts, "wire.swallow": Cuts, "wire.commit": Cuts, "wire.commits": Cuts,
	"wire.every":   Cuts,
	"process.kill": Kills, "process.edge": Kills, "process.every": Kills, "host.kill": Kills,
	"postgres.terminate": Terminated,
	"postgres.immediate": Crashes, "postgres.kill": Crashes, "postgres.promote": Crashes,
}

// Totals count what happened over runs.
type Totals struct {
	Runs        int                       `json:"runs"`
	Verdicts    map[Verdict]int           `json:"verdicts"`
	Reached     map[Goal]int              `json:"reached"`
	Wanted      map[Goal]int              `json:"wanted"`
	Faults      map[string]map[string]int `json:"faults"`
	Instances   int                       `json:"instances"`
	Completions int                       `json:"completions"`
	LostReplies LostReplies               `json:"lost_replies"`
	Joins       Joins                     `json:"joins"`
	Deadlocks   Deadlocks                 `json:"deadlocks"`
	Messages    map[string]fault.Coverage `json:"messages"` // over all runs, by backend
	Seconds     float64                   `json:"seconds"`
	Kept        []string                  `json:"kept"` // folders of the runs that did not pass

	places map[string]*fault.Places
}

// NewTotals makes empty totals.
func NewTotals(wanted map[Goal]int) *Totals {
	return &Totals{
		Verdicts: map[Verdict]int{}, Reached: map[Goal]int{}, Wanted: wanted, Faults: map[string]map[string]int{}, Kept: []string{},
		Messages: map[string]fault.Coverage{}, places: map[string]*fault.Places{},
	}
}

// Add counts a run.
func (t *Totals) Add(r *Result) {
	t.Runs++
	t.Verdicts[r.Verdict]++
	t.Instances += r.Instances
	t.Completions += r.Completions
	t.LostReplies.add(r.Lost)
	t.Reached[Lost] = t.LostReplies.Commits
	t.Joins.All += r.Joins.All
	t.Joins.Contended += r.Joins.Contended
	t.Deadlocks.Server += r.Deadlocks.Server
	t.Deadlocks.Engines += r.Deadlocks.Engines
	t.cover(r)
	if t.Faults[r.Backend] == nil {
		t.Faults[r.Backend] = map[string]int{}
	}
	for kind, n := range r.Faults {
		t.Faults[r.Backend][kind] += n
		if goal, counts := goalOf[kind]; counts {
			t.Reached[goal] += n
		}
	}
}

func (t *Totals) cover(r *Result) {
	if r.Places == nil {
		return
	}
	p := t.places[r.Backend]
	if p == nil {
		p = fault.NewPlaces()
		t.places[r.Backend] = p
	}
	p.Add(r.Places)
	c := p.Coverage()
	c.Unvisited = slices.Concat(p.Unvisited(false, fault.Before, fault.After, fault.Kill), p.Unvisited(true, fault.Before, fault.Kill))
	t.Messages[r.Backend] = c
}

// Known returns what the runs of a backend did at which messages, for Config.Known. It is a copy.
func (t *Totals) Known(backend string) *fault.Places {
	p := fault.NewPlaces()
	if known := t.places[backend]; known != nil {
		p.Add(known)
	}
	return p
}

// Lacks reports whether a goal is not reached.
func (t *Totals) Lacks(goal Goal) bool { return t.Reached[goal] < t.Wanted[goal] }

// Enough reports whether every goal is reached.
func (t *Totals) Enough() bool {
	for goal := range t.Wanted {
		if t.Lacks(goal) {
			return false
		}
	}
	return true
}

// Passed reports whether every goal is reached and every run passed.
func (t *Totals) Passed() bool { return t.Enough() && t.Verdicts[Pass] == t.Runs }

// Line returns the totals on one line.
func (t *Totals) Line() string {
	parts := []string{fmt.Sprintf("%d runs (%d pass, %d fail, %d inconclusive) in %.0f s", t.Runs, t.Verdicts[Pass], t.Verdicts[Fail], t.Verdicts[Inconclusive], t.Seconds)}
	for _, goal := range slices.Sorted(maps.Keys(t.Wanted)) {
		parts = append(parts, fmt.Sprintf("%d of %d %s", t.Reached[goal], t.Wanted[goal], goal))
	}
	parts = append(parts, fmt.Sprintf("of the lost commits %d resolved rightly", t.LostReplies.Commits-t.LostReplies.Wrong))
	parts = append(parts, fmt.Sprintf("%d completions", t.Completions), fmt.Sprintf("%d deadlocks", max(t.Deadlocks.Server, int64(t.Deadlocks.Engines))))
	return strings.Join(parts, ", ")
}
