package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Key is what all values of a series have in common.
type Key struct {
	Scenario string `json:"scenario"`
	Design   string `json:"design"`
	Size     int    `json:"size"`
	Mode     string `json:"mode"`
	Figure   string `json:"figure"`
	Machine  string `json:"machine"`
	Server   string `json:"server"`
	Load     string `json:"load"`
}

// Name is what is measured: "fanout/push/100/saturated nodes_per_s".
func (k Key) Name() string {
	parts := []string{k.Scenario}
	for _, p := range []string{k.Design, sizeText(k.Size), k.Mode} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/") + " " + k.Figure
}

// Conditions are where and how it was measured.
func (k Key) Conditions() string {
	parts := []string{k.Machine}
	for _, p := range []string{k.Server, k.Load} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "; ")
}

func sizeText(size int) string {
	if size == 0 {
		return ""
	}
	return fmt.Sprint(size)
}

// Compare orders keys by conditions first, so that values under equal conditions are read together.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Machine, o.Machine), cmp.Compare(k.Server, o.Server), cmp.Compare(k.Load, o.Load),
		cmp.Compare(k.Scenario, o.Scenario), cmp.Compare(k.Size, o.Size), cmp.Compare(k.Mode, o.Mode), cmp.Compare(k.Design, o.Design))
}

// Series is one figure of one workload over time.
type Series struct {
	Key
	// the last value's
	Better string
	Values []Value // in order of time
}

// Value is one point of a series.
type Value struct {
	Time     time.Time
	Revision string
	Modified bool
	Value    float64
}

// Group makes series of runs, one per figure and key, ordered by key and then as runs order figures. Values are in order of
// time, those of one time in the order of runs.
func Group(runs []Run) []Series {
	sorted := slices.Clone(runs)
	slices.SortStableFunc(sorted, func(a, b Run) int { return a.Time.Compare(b.Time) })
	var out []Series
	place := map[Key]int{}
	for _, r := range sorted {
		for _, f := range r.Figures {
			key := Key{r.Scenario, r.Design, r.Size, r.Mode, f.Name, r.Host.Fingerprint(), r.Server, r.Load}
			i, ok := place[key]
			if !ok {
				i = len(out)
				place[key] = i
				out = append(out, Series{Key: key})
			}
			out[i].Better = f.Better
			out[i].Values = append(out[i].Values, Value{r.Time, r.Revision, r.Modified, f.Value})
		}
	}
	slices.SortStableFunc(out, func(a, b Series) int { return a.Key.Compare(b.Key) })
	return out
}
