package chart_test

import (
	"testing"

	"pulley/reports/chart"
)

func TestStack(t *testing.T) {
	got := chart.Stack([]chart.Layer{
		{Name: "a", Steps: []chart.Step{{0, 1, 2}, {1, 2, 3}, {4, 5, 1}}}, {Name: "b", Steps: []chart.Step{{0, 1, 5}, {4, 5, 1}}},
	}, "things")
	if len(got) != 4 || got[0].Name != "a" || got[1].Name != "b" || got[2].Name != "b" || got[3].Kind != chart.Steps {
		t.Fatalf("%+v", got)
	}
	at := func(s chart.Series, x float64) (out []chart.Point) {
		for _, p := range s.Points {
			if p.X == x {
				out = append(out, p)
			}
		}
		return out
	}
	if b := at(got[1], 0); len(b) != 1 || b[0].Lo != 2 || b[0].Hi != 7 || b[0].Note != "5.00 things" {
		t.Errorf("b at 0: %+v", b)
	}
	for x, heights := range map[float64][]float64{2: {3, 0}, 4: {0, 1}} { // between 2 and 4, nothing is known
		points := at(got[0], x)
		if len(points) != 2 || points[0].Hi != heights[0] || points[1].Hi != heights[1] {
			t.Errorf("a at %v: %+v, want heights of %v", x, points, heights)
		}
	}
}
