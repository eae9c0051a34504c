package knee

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Objective is a bound that a percentile of latencies must keep.
type Objective struct {
	// Percentile, from 50 to 100; 100 is the longest of all.
	Percentile float64
	// Most is what it may be, more than 0.
	Most time.Duration
}

// ParseObjective reads "p99 < 50ms", "p99.9 <= 1s" or "max < 2s"; both signs mean the same. The error is one line that says what to
// write.
func ParseObjective(text string) (Objective, error) {
	name, bound, ok := strings.Cut(text, "<")
	name, bound = strings.TrimSpace(name), strings.TrimSpace(strings.TrimPrefix(bound, "="))
	if !ok {
		return Objective{}, fmt.Errorf("objective %q: write one like p99 < 50ms, or max < 2s", text)
	}
	o := Objective{Percentile: 100}
	if name != "max" {
		number, is := strings.CutPrefix(name, "p")
		f, err := strconv.ParseFloat(number, 64)
		if !is || err != nil || !(f >= 50 && f <= 100) {
			return Objective{}, fmt.Errorf("objective %q: %q is no percentile; write one from p50 to p99.99, or max", text, name)
		}
		o.Percentile = f
	}
	var err error
	if o.Most, err = time.ParseDuration(bound); err != nil || o.Most <= 0 {
		return Objective{}, fmt.Errorf("objective %q: %q is no time; write one like 50ms or 1.5s", text, bound)
	}
	return o, nil
}

// String gives what ParseObjective reads again: "p99 < 50ms".
func (o Objective) String() string { return fmt.Sprintf("%s < %s", o.Name(), o.Most) }

// Name is the percentile's: "p99", or "max".
func (o Objective) Name() string {
	if o.Percentile >= 100 {
		return "max"
	}
	return "p" + strconv.FormatFloat(o.Percentile, 'f', -1, 64)
}

// allowed is the share of latencies that may be above the bound.
func (o Objective) allowed() float64 { return 1 - o.Percentile/100 }
