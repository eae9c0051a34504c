package scenarios_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pulley/scenarios"
)

func TestParseObjective(t *testing.T) {
	for text, want := range map[string]scenarios.Objective{
		"p99 < 50ms":    {Percentile: 99, Most: 50 * time.Millisecond},
		" p99.9<=1.5s ": {Percentile: 99.9, Most: 1500 * time.Millisecond},
		"max < 2s":      {Percentile: 100, Most: 2 * time.Second},
		"p50 <= 1us":    {Percentile: 50, Most: time.Microsecond},
	} {
		if got, err := scenarios.ParseObjective(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "p99", "p99 > 5ms", "99 < 5ms", "p101 < 5ms", "p10 < 5ms", "pNaN < 5ms", "p99 < 5", "p99 < -5ms", "p99 < 0s", "mean < 5ms", "p99 <"} {
		if o, err := scenarios.ParseObjective(text); err == nil || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), fmt.Sprintf("objective %q: ", text)) {
			t.Errorf("%q: %+v, %v", text, o, err)
		}
	}
}
