package reference

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Possible returns every outcome that an engine may rightly reach, without duplicates, Run's first. There are several only if
// branches of one spread or parallel fail with different errors, any of which may surface first. It tries at most runsMax runs
// (zero means 1,000) and reports whether these were all. The action must give the same answers in every run.
func (r *Interpreter) Possible(input json.RawMessage, action Action, opts Options, runsMax int) (outcomes []Outcome, all bool) {
	if runsMax <= 0 {
		runsMax = 1000
	}
	var choices []choice
	seen := map[[sha256.Size]byte]bool{}
	for range runsMax {
		next := 0
		opts.Surface = func(errs []*Error) int {
			if next == len(choices) {
				choices = append(choices, choice{of: len(errs)})
			}
			next++
			return min(choices[next-1].selected, len(errs)-1)
		}
		o := r.Run(input, action, opts)
		if id := o.fingerprint(); !seen[id] {
			seen[id] = true
			outcomes = append(outcomes, o)
		}
		if choices = advance(choices[:next]); choices == nil {
			return outcomes, true
		}
	}
	return outcomes, false
}

// choice is a point of a run at which one of several errors surfaced.
type choice struct{ selected, of int }

// advance returns the choices of the next run, depth first; nil after the last.
func advance(choices []choice) []choice {
	for n := len(choices); n > 0; n-- {
		if last := &choices[n-1]; last.selected+1 < last.of {
			last.selected++
			return choices[:n]
		}
	}
	return nil
}

// fingerprint is equal for outcomes that show the same.
func (o Outcome) fingerprint() [sha256.Size]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s %q", o.Status, o.Error)
	if o.Result != nil {
		fmt.Fprintf(h, " %q", Canonical(o.Result))
	}
	for _, c := range o.Calls {
		fmt.Fprintf(h, "\n%q %d %t", c.Key(), c.Attempt, c.Optional)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
