package load

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"pulley/reports/record"
)

// Waits collects what the sessions of a run's store waited for, by interval. It is not safe for concurrent use.
type Waits struct {
	every, span time.Duration
	took        time.Duration
	looks       []int
	sessions    []map[string]int64
}

// NewWaits is for samples taken so often, in intervals of span until end.
func NewWaits(every, span, end time.Duration) *Waits {
	n := int((end + span - 1) / span)
	return &Waits{every: every, span: span, looks: make([]int, n), sessions: make([]map[string]int64, n)}
}

// Add adds a sample: when it was, since the run's beginning, how long it took, and how many sessions waited for what. It ignores
// samples outside of the intervals.
func (w *Waits) Add(at, took time.Duration, sessions map[string]int64) {
	i := int(at / w.span)
	if at < 0 || i >= len(w.looks) {
		return
	}
	w.took += took
	w.looks[i]++
	if w.sessions[i] == nil {
		w.sessions[i] = map[string]int64{}
	}
	for name, n := range sessions {
		w.sessions[i][name] += n
	}
}

// waitNames bounds the names of a record; the rest are one.
const waitNames = 7

// names are the most frequent ones of all intervals.
func (w *Waits) names() []string {
	totals := map[string]int64{}
	for _, sessions := range w.sessions {
		for name, n := range sessions {
			totals[name] += n
		}
	}
	all := slices.SortedFunc(maps.Keys(totals), func(a, b string) int { return cmp.Or(-cmp.Compare(totals[a], totals[b]), cmp.Compare(a, b)) })
	if len(all) > waitNames+1 {
		all = append(all[:waitNames:waitNames], record.WaitOther)
	}
	return all
}

func (a *analysis) fillWaits() {
	w := a.Waits
	if w == nil {
		return
	}
	names := w.names()
	out := &record.LoadWaits{EveryNS: int64(w.every), TookNS: int64(w.took), Names: names}
	for i := range a.out.Intervals {
		v := &a.out.Intervals[i]
		v.Waits = make([]int64, len(names))
		if i >= len(w.looks) {
			continue
		}
		out.Looks += w.looks[i]
		v.WaitLooks = w.looks[i]
		for name, n := range w.sessions[i] {
			at := slices.Index(names, name)
			if at < 0 {
				at = len(names) - 1
			}
			v.Waits[at] += n
		}
	}
	a.out.Waits = out
}
