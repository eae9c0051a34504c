package diagram_test

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pulley/reports/diagram"
)

var apart = diagram.Options{Layers: 30, Nodes: 10}

// Whatever the graph is: boxes do not overlap and stay within, edges lead to later layers unless they close a cycle, and each line
// begins at its box and ends at its box.
func TestAnyGraphIsLaidOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "nodes")
		var g diagram.Graph
		for range n {
			g.Sizes = append(g.Sizes, diagram.Size{W: rapid.Float64Range(1, 100).Draw(t, "w"), H: rapid.Float64Range(1, 40).Draw(t, "h")})
		}
		for range rapid.IntRange(0, 60).Draw(t, "edges") {
			g.Edges = append(g.Edges, diagram.Edge{From: rapid.IntRange(-1, n).Draw(t, "from"), To: rapid.IntRange(-1, n).Draw(t, "to")})
		}
		o := apart
		o.Across = rapid.Bool().Draw(t, "across")
		l := diagram.Lay(g, o)
		if again := diagram.Lay(g, o); !reflect.DeepEqual(l, again) {
			t.Fatal("the same graph has two layouts")
		}
		for i, a := range l.Boxes {
			if a.X-a.W/2 < -1e-6 || a.Y-a.H/2 < -1e-6 || a.X+a.W/2 > l.W+1e-6 || a.Y+a.H/2 > l.H+1e-6 {
				t.Fatalf("box %+v is outside of %v × %v", a, l.W, l.H)
			}
			for _, b := range l.Boxes[i+1:] {
				if math.Abs(a.X-b.X) < (a.W+b.W)/2-1e-6 && math.Abs(a.Y-b.Y) < (a.H+b.H)/2-1e-6 {
					t.Fatalf("boxes %+v and %+v overlap", a, b)
				}
			}
		}
		for i, e := range g.Edges {
			known := min(e.From, e.To) >= 0 && max(e.From, e.To) < n
			if known != (len(l.Lines[i]) > 1) {
				t.Fatalf("edge %+v of %d nodes has %d points", e, n, len(l.Lines[i]))
			}
			if !known {
				continue
			}
			at, box := l.Lines[i][0], l.Boxes[e.From]
			if math.Abs(at.X-box.X) > box.W/2+1e-6 || math.Abs(at.Y-box.Y) > box.H/2+1e-6 {
				t.Fatalf("edge %+v begins at %+v, not at %+v", e, at, box)
			}
		}
	})
}

func TestALayerIsTheLongestWay(t *testing.T) {
	g := diagram.Graph{Sizes: make([]diagram.Size, 4), Edges: []diagram.Edge{{0, 1}, {1, 2}, {0, 2}, {2, 3}, {3, 1}}}
	if got := diagram.Lay(g, apart).Layer; !reflect.DeepEqual(got, []int{0, 1, 2, 3}) {
		t.Errorf("layers %v", got)
	}
	if got := diagram.Lay(g, apart); len(got.Lines[2]) != 3 {
		t.Errorf("an edge over a layer has %d points, want a bend", len(got.Lines[2]))
	}
}

// Two pairs whose edges cross in the given order do not cross in the layout.
func TestCrossingsAreAvoided(t *testing.T) {
	g := diagram.Graph{Sizes: make([]diagram.Size, 4), Edges: []diagram.Edge{{0, 3}, {1, 2}}}
	l := diagram.Lay(g, apart)
	if (l.Boxes[0].X < l.Boxes[1].X) != (l.Boxes[3].X < l.Boxes[2].X) {
		t.Errorf("the edges cross: %+v", l.Boxes)
	}
}

func TestTooLargeAGraphIsCut(t *testing.T) {
	g := diagram.Graph{Sizes: make([]diagram.Size, 10*diagram.NodesMost)}
	for i := range 10 * diagram.EdgesMost {
		g.Edges = append(g.Edges, diagram.Edge{From: i % diagram.NodesMost, To: (i * 13) % diagram.NodesMost})
	}
	if l := diagram.Lay(g, apart); len(l.Boxes) != diagram.NodesMost || len(l.Lines[diagram.EdgesMost]) != 0 {
		t.Errorf("%d boxes", len(l.Boxes))
	}
}
