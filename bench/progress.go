package bench

import (
	"fmt"
	"io"
	"time"

	"pulley/reports/record"
)

// ProgressPrinter returns a function for CompareConfig.Progress. On a terminal it updates one line; elsewhere it writes a line
// per ended run.
func ProgressPrinter(w io.Writer, terminal bool, now func() time.Time) func(Progress) {
	began := now()
	return func(p Progress) {
		switch {
		case p.Ceiling != "":
			if terminal {
				fmt.Fprintf(w, "\r\x1b[K[%d/%d] raw SQL: %s", p.Done, p.Total, p.Ceiling)
			}
		case terminal && p.Sample == nil:
			fmt.Fprintf(w, "\r\x1b[K[%d/%d] %s%s", min(p.Done+1, p.Total), p.Total, p.what(), remaining(p, now().Sub(began)))
		case terminal && !p.Sample.Valid:
			fmt.Fprintf(w, "\r\x1b[K%s\n", outcome(p))
		case terminal && p.Done == p.Total:
			_, _ = io.WriteString(w, "\r\x1b[K")
		case !terminal && p.Sample != nil:
			fmt.Fprintf(w, "%s%s\n", outcome(p), remaining(p, now().Sub(began)))
		}
	}
}

func outcome(p Progress) string {
	return fmt.Sprintf("[%d/%d] %s: %s", p.Done, p.Total, p.what(), verdict(p.Sample))
}

func (p Progress) what() string {
	which := fmt.Sprintf("run %d", p.Run)
	if p.Run == 0 {
		which = "how long a run is"
	}
	return fmt.Sprintf("%s on %s, %s, %s", p.Case, p.Backend, p.Mode, which)
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

// remaining estimates the rest from the runs so far; the first ones show little.
func remaining(p Progress, elapsed time.Duration) string {
	if p.Done < 3 || p.Done == p.Total {
		return ""
	}
	left := time.Duration(float64(elapsed) / float64(p.Done) * float64(p.Total-p.Done))
	return fmt.Sprintf(", about %s left", left.Round(time.Second))
}
