package chart

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestThinKeepsWhatStandsOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var points []Point
		for i := range rapid.IntRange(1, 500).Draw(t, "points") {
			y := rapid.Float64Range(0, 1).Draw(t, "y")
			points = append(points, Point{X: float64(i), Y: y, Lo: y - 1, Hi: y + 1, To: float64(i) + y, Value: y})
		}
		most := rapid.IntRange(2, 400).Draw(t, "most")
		lowest := func(a, b Point) int { return int(min(max((a.Y-b.Y)*1e9, -1), 1)) }
		for _, kind := range []Kind{Lines, Dots, Steps, Ticks, Spans, Cells, Area} {
			got := thin(kind, points, most, false)
			if len(got) > most || len(got) < min(len(points), most/2) {
				t.Fatalf("%s: %d of %d points, at most %d", kind, len(got), len(points), most)
			}
			if !slices.IsSortedFunc(got, func(a, b Point) int { return int(a.X - b.X) }) {
				t.Fatalf("%s: the order changed", kind)
			}
			high := slices.MaxFunc(points, lowest)
			if kind == Area {
				if top := slices.MaxFunc(got, func(a, b Point) int { return int(min(max((a.Hi-b.Hi)*1e9, -1), 1)) }); top.Hi < high.Hi-1e-8 {
					t.Fatalf("the area ends at %v, not %v", top.Hi, high.Hi)
				}
				continue
			}
			if found := slices.MaxFunc(got, lowest); found.Y < high.Y-1e-3 {
				t.Fatalf("%s: the highest of %d points is lost: %v, not %v", kind, len(points), found.Y, high.Y)
			}
		}
	})
}
