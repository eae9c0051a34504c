package limit

import (
	"fmt"
	"slices"
	"time"
)

// Attempt is one execution of an action, as a history has it.
type Attempt struct {
	Action     string
	Start, End time.Time
}

// Check reports the first time at which a history exceeds the limit; nil: none. It is for tests and judges.
func (l Limit) Check(attempts []Attempt) error {
	var starts, ends []time.Time
	for _, a := range attempts {
		if slices.Contains(l.Actions, a.Action) {
			starts, ends = append(starts, a.Start), append(ends, a.End)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	slices.SortFunc(ends, time.Time.Compare)
	ended := 0
	for i, at := range starts {
		for ended < len(ends) && !ends[ended].After(at) {
			ended++
		}
		if running := i + 1 - ended; l.Concurrency > 0 && running > l.Concurrency {
			return fmt.Errorf("limit %s: %d attempts run at %s, %d may", l.Name, running, at.Format(time.RFC3339Nano), l.Concurrency)
		}
		if n := l.Rate.Starts; n > 0 && i >= n && at.Sub(starts[i-n]) < l.Rate.Per {
			return fmt.Errorf("limit %s: %d attempts start within %v, until %s; %s may", l.Name, n+1, at.Sub(starts[i-n]), at.Format(time.RFC3339Nano), l.Rate)
		}
	}
	return nil
}

// Kept returns which part of the rate a history uses, between its first and its last start; zero if it has fewer than two.
func (l Limit) Kept(attempts []Attempt) float64 {
	var starts []time.Time
	for _, a := range attempts {
		if slices.Contains(l.Actions, a.Action) {
			starts = append(starts, a.Start)
		}
	}
	if len(starts) < 2 || l.Rate == (Rate{}) {
		return 0
	}
	first, last := slices.MinFunc(starts, time.Time.Compare), slices.MaxFunc(starts, time.Time.Compare)
	used := float64(len(starts)-1) / max(last.Sub(first).Seconds(), 1e-9)
	return used / (float64(l.Rate.Starts) / l.Rate.Per.Seconds())
}
