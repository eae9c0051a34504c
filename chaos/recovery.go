package chaos

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pulley/chaos/check"
)

// Recovery is how fast work came back after faults, in milliseconds from each fault's end.
type Recovery struct {
	First    Percentiles `json:"first"`          // until a completion was applied
	Rate     Percentiles `json:"rate_95"`        // until completions were applied at 95 % of the rate before the first fault
	Finished Percentiles `json:"finished"`       // until all instances that were open had ended
	RateWas  float64     `json:"rate_was_per_s"` // before the first fault
}

// Percentiles are of so many faults; the others were followed by the next one, or the run's end, too soon.
type Percentiles struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func percentiles(ms []float64) Percentiles {
	if len(ms) == 0 {
		return Percentiles{}
	}
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(len(ms)-1, int(q*float64(len(ms))))] }
	return Percentiles{N: len(ms), P50: at(0.5), P99: at(0.99), Max: ms[len(ms)-1]}
}

func (r Recovery) text() string {
	var b strings.Builder
	line := func(what string, p Percentiles) {
		if p.N > 0 {
			fmt.Fprintf(&b, "  %-44s p50 %.0f ms, p99 %.0f ms, max %.0f ms (%d faults)\n", what, p.P50, p.P99, p.Max, p.N)
		}
	}
	line("to the first completion", r.First)
	line(fmt.Sprintf("to 95 %% of the earlier rate (%.0f/s)", r.RateWas), r.Rate)
	line("until all that was open had ended", r.Finished)
	return b.String()
}

const (
	rateShare  = 0.95
	rateWindow = 0.25 // seconds of the earlier rate that a window has the completions of
	rateLeast  = 10   // completions that it has at least
)

// recovery reads from a history how work came back after each fault.
func recovery(h check.History, spans []span) Recovery {
	if len(spans) == 0 {
		return Recovery{}
	}
	var applied []int64
	for i := range h {
		if h[i].Kind == check.Answered && h[i].Answer == check.AnswerApplied {
			applied = append(applied, h[i].AtNS)
		}
	}
	slices.Sort(applied)
	out := Recovery{RateWas: rateBefore(applied, spans[0].begun)}
	lives := livesOf(h)
	var first, rate, finished []float64
	for i, s := range spans {
		over, next := s.over, int64(math.MaxInt64)
		if i+1 < len(spans) {
			next = spans[i+1].begun
		}
		from, _ := slices.BinarySearch(applied, over)
		to, _ := slices.BinarySearch(applied, next)
		after := applied[from:to]
		if len(after) > 0 {
			first = append(first, milliseconds(after[0]-over))
		}
		if at, found := regained(after, out.RateWas); found {
			rate = append(rate, milliseconds(at-over))
		}
		if at, found := lives.finished(over); found && at < next {
			finished = append(finished, milliseconds(at-over))
		}
	}
	out.First, out.Rate, out.Finished = percentiles(first), percentiles(rate), percentiles(finished)
	return out
}

func milliseconds(ns int64) float64 { return float64(ns/1000) / 1000 }

// rateBefore is completions per second up to a moment, the first half of them left out: engines start.
func rateBefore(applied []int64, until int64) float64 {
	n, _ := slices.BinarySearch(applied, until)
	half := applied[n/2 : n]
	if len(half) < 2 || half[len(half)-1] == half[0] {
		return 0
	}
	return float64(len(half)-1) / (float64(half[len(half)-1]-half[0]) / 1e9)
}

// regained is when completions began to come at the share of a rate.
func regained(applied []int64, rate float64) (at int64, found bool) {
	n := max(rateLeast, int(rateWindow*rate))
	most := int64(float64(n-1) / (rateShare * rate) * 1e9)
	for i := 0; rate > 0 && i+n <= len(applied); i++ {
		if applied[i+n-1]-applied[i] <= most {
			return applied[i], true
		}
	}
	return 0, false
}

// life is an instance from its submission to its end.
type life struct{ begun, ended int64 }

type lives []life

// livesOf collects the instances of a history that ended.
func livesOf(h check.History) lives {
	begun, ended := map[string]int64{}, map[string]int64{}
	for i := range h {
		e := &h[i]
		if e.Instance == "" {
			continue
		}
		if _, known := begun[e.Instance]; !known && e.Kind != check.Looked {
			begun[e.Instance] = e.AtNS
		}
		over := e.Kind == check.Ended || e.Kind == check.Looked && e.Status != check.Running && e.Status != ""
		if _, known := ended[e.Instance]; over && !known {
			ended[e.Instance] = e.AtNS
		}
	}
	var out lives
	for id, b := range begun {
		if e, over := ended[id]; over {
			out = append(out, life{b, e})
		}
	}
	return out
}

// finished is when the last instance ended that was open at a moment.
func (l lives) finished(at int64) (int64, bool) {
	latest := int64(0)
	for _, one := range l {
		if one.begun < at && one.ended >= at {
			latest = max(latest, one.ended)
		}
	}
	return latest, latest > 0
}

// longestBefore is the longest life of an instance that ended before a moment.
func longestBefore(h check.History, until int64) time.Duration {
	longest := int64(0)
	for _, one := range livesOf(h) {
		if one.ended < until {
			longest = max(longest, one.ended-one.begun)
		}
	}
	return time.Duration(longest)
}
