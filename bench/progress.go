package bench

import (
	"fmt"

	"pulley/reports/record"
)

// What is the run, or the point of a ceiling, in few words.
func (p Progress) What() string {
	if p.Ceiling != "" {
		return "raw SQL: " + p.Ceiling
	}
	which := fmt.Sprintf("run %d", p.Run)
	if p.Run == 0 {
		which = "how long a run is"
	}
	return fmt.Sprintf("%s on %s, %s, %s", p.Case, p.Backend, p.Mode, which)
}

// Outcome is a line on the run that ended; empty if none did.
func (p Progress) Outcome() string {
	if p.Sample == nil {
		return ""
	}
	return fmt.Sprintf("[%d/%d] %s: %s", p.Done, p.Total, p.What(), verdict(p.Sample))
}

func verdict(s *record.Sample) string {
	if s.Valid {
		return fmt.Sprintf("%.0f nodes/s", s.NodesPerS)
	}
	reason := "no reason given"
	if len(s.Warnings) > 0 {
		reason = s.Warnings[0]
	}
	return "INVALID: " + reason
}
