package race

import (
	"fmt"
	"slices"
	"strings"

	"pulley/bench/peers/peer"
	"pulley/bench/stats"
)

// Ratio is how many times faster one system is than others on a workload.
type Ratio struct {
	// Name is "push / river, chain". Of another system raced in several ways, the fastest way in each run counts.
	Name     string `json:"name"`
	System   string `json:"system"`
	Over     string `json:"over"`
	Workload string `json:"workload"`

	Pairs  int      `json:"pairs"`
	Value  *float64 `json:"value"` // null if no run of both was valid
	Least  *float64 `json:"least"`
	Most   *float64 `json:"most"`
	Target *float64 `json:"target"` // null: none
	Met    *bool    `json:"met"`
}

// targets are push's goals against River at its best.
var targets = map[string]float64{"independent": 1.5, "backlog": 1.5, "chain": 25, "fanout": 25}

// ratios compares each of our systems with each other system on every workload that both ran under load.
func ratios(r *Record) []Ratio {
	var out []Ratio
	for _, mine := range r.Systems {
		if !mine.Ours {
			continue
		}
		for _, otherSystem := range families(r) {
			for _, w := range r.Workloads {
				if w.Load == peer.Single {
					continue // the table compares latencies
				}
				if ratio, ok := compare(r, mine.Name, otherSystem, w.Name); ok {
					out = append(out, ratio)
				}
			}
		}
	}
	return out
}

// families lists the other systems, with the ways of using one ("river-tx", "river:connections=8") united.
func families(r *Record) []string {
	var out []string
	for _, s := range r.Systems {
		if f := family(s.Name); !s.Ours && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

func family(system string) string {
	name, _, _ := strings.Cut(system, ":")
	name, _, _ = strings.Cut(name, "-")
	return name
}

func compare(r *Record, mine, otherSystem, workload string) (Ratio, bool) {
	ours, theirs := map[int]float64{}, map[int]float64{}
	known := false
	for _, s := range r.Samples {
		switch {
		case s.Workload != workload:
		case s.System == mine:
			known = true
			if s.Valid {
				ours[s.Run] = s.TasksPerS
			}
		case r.ours(s.System):
		case family(s.System) == otherSystem && s.Valid:
			theirs[s.Run] = max(theirs[s.Run], s.TasksPerS)
		}
	}
	out := Ratio{Name: fmt.Sprintf("%s / %s, %s", mine, otherSystem, workload), System: mine, Over: otherSystem, Workload: workload}
	var a, b []float64
	for run := 1; run <= r.Runs; run++ {
		if ours[run] > 0 && theirs[run] > 0 {
			a, b = append(a, ours[run]), append(b, theirs[run])
		}
	}
	if target, ok := targets[workload]; ok && mine == "push" && otherSystem == "river" {
		out.Target = &target
	}
	if out.Pairs = len(a); out.Pairs == 0 {
		return out, known && out.Target != nil
	}
	// All values are positive and the lists equally long, so it cannot fail.
	interval, err := stats.PairedRatio(a, b, 1)
	if err != nil {
		return out, false
	}
	out.Value, out.Least, out.Most = &interval.Median, &interval.Lo, &interval.Hi
	if out.Target != nil {
		met := *out.Value >= *out.Target
		out.Met = &met
	}
	return out, true
}

func (r *Record) ours(system string) bool {
	return slices.ContainsFunc(r.Systems, func(s System) bool { return s.Name == system && s.Ours })
}
