package judge

import (
	"fmt"
	"strings"
)

// shownMax bounds the violations of a rule in a text.
const shownMax = 3

// Text is the verdict for terminals: the result, the first violations of each rule, what could not be judged, and the figures.
func (v *Verdict) Text() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch v.Result {
	case Keeps:
		line("It keeps its promises.")
	case Breaks:
		line("It breaks its promises:")
	default:
		line("Inconclusive:")
	}
	shown := map[Rule]int{}
	for i := range v.Violations {
		violation := &v.Violations[i]
		if shown[violation.Rule]++; shown[violation.Rule] > shownMax {
			continue
		}
		line("  %-13s instance %s: %s", violation.Rule, violation.Instance, violation.What)
		if more := v.Totals[violation.Rule] - shownMax; more > 0 && shown[violation.Rule] == shownMax {
			line("  %-13s and %d more", "", more)
		}
	}
	for _, reason := range v.Unjudged {
		line("  %-13s %s", "not judged", reason)
	}
	c := &v.Counts
	line("instances   %d submitted, %d accepted, %d ended%s", c.InstancesSubmitted, c.InstancesAccepted, c.InstancesEnded,
		some(", of these %d failed", c.InstancesFailed)+some("; %d open", c.InstancesOpen)+some("; %d lost", c.InstancesLost))
	line("executions  %d, %d repeated%s", c.Executions, c.RepeatedExecutions,
		some(", %d after the end", c.ExecutionsAfterEnd)+some(", %d tasks with two values", c.ValuesDiffered))
	if c.Kills+c.Deaths+c.Faults > 0 {
		line("faults      %d injected, %d kills, %d other deaths; %.1f executions repeated for each death", c.Faults, c.Kills, c.Deaths, c.RepeatedPerKill)
	}
	if r := c.Restarts; r.Instances+r.Missing > 0 {
		line("restarts    the process that had worked on an instance last died %d times; the instance continued %d times, after p50 %.0f ms, p99 %.0f ms, max %.0f ms",
			r.Instances+r.Missing, r.Instances, r.P50MS, r.P99MS, r.MaxMS)
	}
	if n := c.BatchesUnanswered + c.BatchesRefused + c.Problems; n > 0 {
		line("answers     %d batches unanswered, %d refused, %d problems", c.BatchesUnanswered, c.BatchesRefused, c.Problems)
	}
	return b.String()
}

// some formats a number, unless it is zero.
func some(format string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}
