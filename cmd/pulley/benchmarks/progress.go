package benchmarks

import (
	"fmt"
	"time"

	"pulley/bench"
	"pulley/internal/live"
)

// showRuns shows the progress of a comparison. A run that was not valid is a warning.
func showRuns(run *live.Run) func(bench.Progress) {
	return func(p bench.Progress) {
		step := live.Step{What: p.What(), Done: float64(p.Done), Total: float64(p.Total), Unit: "runs"}
		if s := p.Sample; s != nil {
			if s.Valid {
				step.Detail = fmt.Sprintf("%.0f nodes/s", s.NodesPerS)
				run.Note("%s", p.Outcome())
			} else {
				run.Warn("%s", p.Outcome())
			}
		}
		run.Step(step)
	}
}

// showLoad shows the progress of a run under load. A request that was dropped is a warning.
func showLoad(run *live.Run, what string) func(bench.OpenProgress) {
	dropped := 0
	return func(p bench.OpenProgress) {
		step := live.Step{What: what, Done: min(p.Elapsed, p.End).Seconds(), Total: p.End.Seconds(), Unit: "s"}
		if p.Draining {
			step.What += ", draining"
		}
		step.Detail = fmt.Sprintf("%d sent, %d ended, %d dropped, %d in flight", p.Sent, p.Ended, p.Dropped, p.InFlight)
		if p.Dropped > 0 && dropped == 0 {
			run.Warn("instances are dropped: more than %d would be in flight, from %s on", p.InFlightMost, p.Elapsed.Round(time.Second))
		}
		dropped = p.Dropped
		run.Step(step)
	}
}
