package load

import (
	"time"

	"pulley/bench/stages"
	"pulley/reports/record"
)

func (a *analysis) fillStages() {
	o := a.out
	span := time.Duration(o.Phases.SpanNS)
	var stored []time.Duration
	byInterval := make([][]time.Duration, len(o.Intervals))
	for i := range a.Requests {
		r := &a.Requests[i]
		if r.Sent == 0 || r.Stored == 0 {
			continue
		}
		took := max(r.Stored-r.Sent, 0)
		if r.Intended >= a.from {
			stored = append(stored, took)
		}
		if at := int(r.Intended / span); at < len(byInterval) {
			byInterval[at] = append(byInterval[at], took)
		}
	}
	o.Stages = append(o.Stages, record.LoadStage{Name: "submitted", Text: "of an instance: from the sending to the store's answer", NS: newSpread(stored, 0).times()})
	for i := range o.Intervals {
		o.Intervals[i].StageP50s = append(o.Intervals[i].StageP50s, newSpread(byInterval[i], 0).at(.5))
	}
	if a.Stages == nil {
		return
	}
	first := int((a.from + span - 1) / span)
	for _, s := range stages.All() {
		o.Stages = append(o.Stages, record.LoadStage{Name: s.String(), Text: "of a node run: " + s.Text(), NS: timesOf(a.Stages.Over(s, first, len(o.Intervals)))})
		for i := range o.Intervals {
			var p50 *int64
			if m, ok := a.Stages.Median(s, i); ok {
				ns := int64(m)
				p50 = &ns
			}
			o.Intervals[i].StageP50s = append(o.Intervals[i].StageP50s, p50)
		}
	}
	if n := a.Stages.Every(); n > 1 {
		a.note("the stages of node runs are those of one instance in %d", n)
	}
}

func timesOf(s stages.Summary) record.LoadTimes {
	out := record.LoadTimes{Count: s.Count}
	if s.Count == 0 {
		return out
	}
	for to, from := range map[**int64]time.Duration{&out.MeanNS: s.Mean, &out.P50: s.P50, &out.P90: s.P90, &out.P99: s.P99, &out.P999: s.P999, &out.Max: s.Max} {
		ns := int64(from)
		*to = &ns
	}
	return out
}
