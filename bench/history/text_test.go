package history_test

import (
	"strings"
	"testing"

	"pulley/bench/history"
)

func TestSpark(t *testing.T) {
	for _, c := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 5, ""},
		{[]float64{3}, 5, "▄"},
		{[]float64{2, 2, 2}, 5, "▄▄▄"},
		{[]float64{0, 7}, 5, "▁█"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, "▁▂▃▄▅▆▇█"},
		{[]float64{0, 0, 0, 7, 7, 7}, 2, "▁█"},
		{[]float64{-1e308, 1e308}, 2, "▁█"}, // no float holds the difference
	} {
		if got := history.Spark(c.values, c.width); got != c.want {
			t.Errorf("%v in %d: %q, want %q", c.values, c.width, got, c.want)
		}
	}
}

func TestFormatValue(t *testing.T) {
	for _, c := range []struct {
		figure string
		value  float64
		want   string
	}{
		{"hop_p99_ns", 1.5e6, "1.500ms"}, {"nodes_per_s", 93162, "93.16k/s"}, {"wal_bytes_per_node", 436.6, "436.6 B"},
		{"commits_per_node", 0.0018, "0.0018"}, {"sec/op", 1.5e-6, "1.500µs"}, {"B/op", 2048, "2.000Ki"}, {"allocs/op", 0, "0.000"},
	} {
		if got := history.FormatValue(c.figure, c.value); got != c.want {
			t.Errorf("%v of %s: %q, want %q", c.value, c.figure, got, c.want)
		}
	}
}

func TestCommitsOfAChange(t *testing.T) {
	const a, b = "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbb"
	for _, c := range []struct {
		before, after history.Place
		want          string
	}{
		{history.Place{Revision: a}, history.Place{Revision: b}, "git log aaaaaaaaaaaa..bbbbbbbbbbbb"},
		{history.Place{Revision: a}, history.Place{Revision: a}, "outside of the source"},
		{history.Place{Revision: a}, history.Place{Revision: a, Modified: true}, "not committed"},
		{history.Place{}, history.Place{Revision: a}, "not known"},
	} {
		change := history.Change{Before: c.before, After: c.after}
		if got := change.Commits(); !strings.Contains(got, c.want) {
			t.Errorf("%s to %s: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}
