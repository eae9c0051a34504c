package scenarios

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Objective is a bound on a percentile of instances' latencies.
type Objective struct {
	Percentile float64       // above 0, up to 100; 100 is the maximum
	Most       time.Duration // the bound, more than 0
}

// ParseObjective parses "p99 < 50ms", "p99.9 <= 1s" or "max < 2s", from p50 on; both signs mean the same. The error is one line
// that says what to write.
func ParseObjective(text string) (Objective, error) {
	name, bound, ok := strings.Cut(text, "<")
	name, bound = strings.TrimSpace(name), strings.TrimSpace(strings.TrimPrefix(bound, "="))
	if !ok {
		return Objective{}, fmt.Errorf("objective %q: write one like p99 < 50ms, or max < 2s", text)
	}
	percentile, err := ParsePercentile(name)
	if err != nil {
		return Objective{}, fmt.Errorf("objective %q: %w", text, err)
	}
	most, err := time.ParseDuration(bound)
	if err != nil || most <= 0 {
		return Objective{}, fmt.Errorf("objective %q: %q is no time; write one like 50ms or 1.5s", text, bound)
	}
	return Objective{percentile, most}, nil
}

// ParsePercentile parses "p99", "p99.9" or "max", which is 100, from p50 on. The error is one line that says what to write.
func ParsePercentile(text string) (float64, error) {
	p, ok := percentileOf(text)
	if !ok || p < 50 {
		return 0, fmt.Errorf("%q is no percentile; write one from p50 to p99.99, or max", text)
	}
	return p, nil
}

func percentileOf(text string) (float64, bool) {
	if text == "max" {
		return 100, true
	}
	number, is := strings.CutPrefix(text, "p")
	f, err := strconv.ParseFloat(number, 64)
	return f, is && err == nil && f > 0 && f <= 100
}

func (d *decoder) readObjective() {
	v := d.raw.objective
	if v == nil {
		return
	}
	for _, f := range d.Map(v, "objectives") {
		percentile, ok := percentileOf(f.Name)
		if !ok {
			d.Add(f.Pos, "%q is no percentile of latencies; write one like p99 or p99.9, or max", f.Name)
			continue
		}
		most, ok := d.Duration(f.Value, f.Name)
		switch {
		case !ok:
		case most == 0:
			d.Add(f.Value.Pos, "%s is 0s, which no instance keeps; write one like 100ms", f.Name)
		default:
			d.objective = append(d.objective, Objective{percentile, most})
		}
	}
}
