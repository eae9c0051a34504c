package backendtest

import (
	"fmt"
	"strings"

	"pulley/engine/graph"
)

var graphs = []Workflow{
	{Name: "diamond", Input: `{"n": 5}`, Want: `21`, Build: diamond,
		Runs: map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}},
	{Name: "wide join", Input: `{}`, Want: `1225`, Build: wideJoin, Runs: map[string]int{"total": 1}},
	{Name: "layers", Input: `{}`, Want: `256`, Build: layers},
	{Name: "soft group", Input: `{}`, Want: `["late",7]`, Build: softGroup,
		Runs: map[string]int{"first": 1, "second": 1, "either": 1, "late": 1}},
	{Name: "soft and hard", Input: `{}`, Want: `9`, Build: softAndHard,
		Runs: map[string]int{"meet": 1}},
	{Name: "case", Input: `{"n": 9}`, Want: `["big",18]`, Build: cases, Runs: map[string]int{"big": 1, "small": 0}},
	{Name: "case else", Input: `{"n": 2}`, Want: `["small",3]`, Build: cases, Runs: map[string]int{"big": 0, "small": 1}},
	{Name: "continue on error", Input: `{}`, Want: `[true,1]`, Build: onError, Runs: map[string]int{"after": 1}},
	{Name: "failure among siblings", Input: `{}`, Failure: "Bad", Build: siblings, Runs: map[string]int{"never": 0}},
	{Name: "two parts", Input: `{}`, Want: `[2,4]`, Build: twoParts},
	{Name: "map", Input: `{"ns": [1, 5, 2, 7]}`, Want: `[2,10,3,14]`, Build: mapped,
		Runs: map[string]int{"map.seen": 4, "map.big": 2, "map.small": 2}},
	{Name: "map of nothing", Input: `{"ns": []}`, Want: `[]`, Build: mapped, Runs: map[string]int{"map.seen": 0}},
	{Name: "for", Input: `{"ns": [1, 5, 2]}`, Want: `[[2,12,16],8]`, Build: rounds,
		Runs: map[string]int{"sums.left": 3, "sums.right": 3}},
	{Name: "maps in a for", Input: `{"ns": [1, 2]}`, Want: `[[0],[0,2]]`, Build: mapsInFor,
		Runs: map[string]int{"rows.cells.twice": 3}},
	{Name: "for that leaves nodes behind", Input: `{"ns": [1, 5, 2]}`, Want: `[1,5,2]`, Build: racing},
}

func arg(name, value string) graph.Arg { return graph.Arg{Name: name, Value: graph.X(value)} }

func diamond() *graph.Builder {
	b := graph.New("diamond", "n")
	a := b.Action("a", "echo", arg("value", "n"))
	left := b.Action("b", "double", arg("value", "a")).After(a)
	right := b.Action("c", "add", arg("a", "a"), arg("b", "1")).After(a)
	d := b.Action("d", "add", arg("a", "b + c"), arg("b", "n")).After(left, right)
	b.Output("d").After(d)
	return b
}

func wideJoin() *graph.Builder {
	b := graph.New("wide_join")
	root := b.Action("root", "items", arg("count", "50"))
	total := b.Action("total", "sum", arg("values", "["+list(50, "t%d")+"]"))
	for i := range 50 {
		total.After(b.Action(fmt.Sprintf("t%d", i), "echo", arg("value", fmt.Sprintf("root[%d]", i))).After(root))
	}
	b.Output("total").After(total)
	return b
}

// layers is four layers of four nodes, each of which waits for the whole layer before.
func layers() *graph.Builder {
	b := graph.New("layers")
	var before []*graph.NodeBuilder
	for l := range 4 {
		var layer []*graph.NodeBuilder
		for k := range 4 {
			value := "[1]"
			if l > 0 {
				value = "[" + list(4, fmt.Sprintf("n%d_%%d", l-1)) + "]"
			}
			layer = append(layer, b.Action(fmt.Sprintf("n%d_%d", l, k), "sum", arg("values", value)).After(before...))
		}
		before = layer
	}
	b.Output("4 * n3_0").After(before...)
	return b
}

// softGroup continues once, after the first of two nodes.
func softGroup() *graph.Builder {
	b := graph.New("soft_group")
	first := b.Action("first", "echo", arg("value", "7"))
	second := b.Action("second", "echo", arg("value", "7"))
	either := b.Action("either", "echo", arg("value", "7")).AfterAny(first, second)
	late := b.Action("late", "echo", arg("value", `"late"`)).After(first, second, either)
	b.Output("[late, either]").After(late)
	return b
}

// softAndHard has a node that waits for one of two, and for a third.
func softAndHard() *graph.Builder {
	b := graph.New("soft_and_hard")
	one := b.Action("one", "echo", arg("value", "3"))
	two := b.Action("two", "echo", arg("value", "3"))
	must := b.Action("must", "double", arg("value", "3"))
	meet := b.Action("meet", "add", arg("a", "3"), arg("b", "must")).AfterAny(one, two).After(must)
	b.Output("meet").After(meet, one, two)
	return b
}

func cases() *graph.Builder {
	b := graph.New("cases", "n")
	seen := b.Action("seen", "echo", arg("value", "n"))
	choice := b.Branch("choice").After(seen)
	big := b.Action("big", "double", arg("value", "seen"))
	small := b.Action("small", "add", arg("a", "seen"), arg("b", "1"))
	choice.Case("seen > 5", big).Else(small)
	b.Output(`["big", big] if seen > 5 else ["small", small]`).AfterAny(big, small)
	return b
}

func onError() *graph.Builder {
	b := graph.New("on_error")
	bad := b.Action("bad", "fail", arg("type", `"Bad"`), arg("message", `"no"`)).OnError(graph.Continue)
	good := b.Action("good", "echo", arg("value", "1"))
	after := b.Action("after", "echo", arg("value", `isexception(bad, "Bad")`)).After(bad, good)
	b.Output("[after, good]").After(after)
	return b
}

func siblings() *graph.Builder {
	b := graph.New("siblings")
	root := b.Action("root", "noop")
	bad := b.Action("bad", "fail", arg("type", `"Bad"`), arg("message", `"no"`)).After(root)
	never := b.Action("never", "noop").After(bad)
	for i := range 6 {
		never.After(b.Action(fmt.Sprintf("sibling%d", i), "noop").After(root))
	}
	b.Output("None").After(never)
	return b
}

func twoParts() *graph.Builder {
	b := graph.New("two_parts")
	x := b.Action("x", "double", arg("value", "1"))
	y := b.Action("y", "double", arg("value", "2"))
	b.Output("[x, y]").After(x, y)
	return b
}

// mapped runs a branch for every element, two at once.
func mapped() *graph.Builder {
	b := graph.New("map", "ns")
	each := b.Each("map", "n", "ns")
	seen := each.Action("seen", "echo", arg("value", "n"))
	big := each.Action("big", "double", arg("value", "seen"))
	small := each.Action("small", "add", arg("a", "n"), arg("b", "1"))
	each.Branch("choice").After(seen).Case("n > 4", big).Else(small)
	each.Output("big if n > 4 else small").AfterAny(big, small)
	b.Output("map").After(each.Map(2))
	return b
}

// rounds adds, in every round, concurrently computed values to the previous sum.
func rounds() *graph.Builder {
	b := graph.New("rounds", "ns")
	total := b.Action("total", "sum", arg("values", "ns"))
	each := b.Each("sums", "n", "ns")
	left := each.Action("left", "echo", arg("value", "n"))
	right := each.Action("right", "echo", arg("value", "n"))
	each.Output("left + right + (sums[-1] if sums else 0)").After(left, right)
	b.Output("[sums, total]").After(each.For().After(total), total)
	return b
}

func mapsInFor() *graph.Builder {
	b := graph.New("maps_in_for", "ns")
	row := b.Each("rows", "n", "ns")
	cell := row.Each("cells", "i", "range(n)")
	cell.Output("twice").After(cell.Action("twice", "double", arg("value", "i")))
	row.Output("cells").After(cell.Map(0))
	b.Output("rows").After(row.For())
	return b
}

// racing ends each of its rounds with the first of three nodes.
func racing() *graph.Builder {
	b := graph.New("racing", "ns")
	each := b.Each("rounds", "n", "ns")
	end := each.Output("n")
	for i := range 3 {
		end.AfterAny(each.Action(fmt.Sprintf("x%d", i), "noop"))
	}
	b.Output("rounds").After(each.For())
	return b
}

func list(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ", ")
}
