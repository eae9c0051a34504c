package generate

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

func digit(n int) string { return strconv.Itoa(n) }

func fanout() Shape {
	return Shape{
		Name: "fanout", Doc: "spreads within each other; each joins the results of its elements with one more step",
		Parameters: []Parameter{
			{Name: "width", Doc: "elements of each spread", Least: 0, Most: 1 << 40},
			{Name: "depth", Doc: "spreads within each other", Least: 1, Most: 16, Default: "1"},
			actionParameter,
		},
		write: writeFanout,
	}
}

func writeFanout(w *writer) (Workflow, error) {
	width, depth, action := w.number("width"), w.number("depth"), w.name("action")
	if err := within("elements of one spread", width, w.limits.SpreadElements); err != nil {
		return Workflow{}, err
	}
	if steps := math.Pow(float64(width), float64(depth)); steps > stepsMax {
		return Workflow{}, fmt.Errorf("%d to the power of %d is %.3g steps, which is over the limit of %d; take a smaller width or depth", width, depth, steps, stepsMax)
	}
	for level := depth; level >= 1; level-- {
		name := "level" + digit(level)
		if level == 1 {
			name = "main"
		}
		w.line(0, "fn %s(input: [start], output: [value]):", name)
		if level == depth {
			w.line(1, "values = spread range(%d):i -> @%s(start=start, i=i)", width, action)
		} else {
			w.line(1, "values = spread range(%d):i -> level%d(start=[start, i])", width, level+1)
		}
		w.line(1, "value = @%s(level=%d, start=start, values=values)", action, level)
		w.line(1, "return value")
	}
	return Workflow{}, nil
}

// stepsMax bounds the steps of a workflow whose parameters multiply.
const stepsMax = 5_000_000

func spread() Shape {
	return Shape{
		Name: "spread", Doc: "spreads one after the other, each of another size and with a step that joins its results; each element takes one of the results before",
		Parameters: []Parameter{
			{Name: "stages", Doc: "spreads", Least: 1, Most: 1000, Default: "3"},
			{Name: "sizes", Doc: "elements of each spread", Kind: Law, Least: 0, Most: 100_000},
			{Name: "limit", Doc: "elements of a spread that run at once; 0 for all", Least: 0, Most: 100_000, Default: "0"},
			actionParameter,
		},
		write: writeSpread,
	}
}

func writeSpread(w *writer) (Workflow, error) {
	action, limit := w.name("action"), ""
	if n := w.number("limit"); n > 0 {
		limit = " limit " + digit(n)
	}
	w.line(0, "fn main(input: [start], output: [value]):")
	w.line(1, "value = start")
	w.line(1, "values = []")
	for stage := 1; stage <= w.number("stages"); stage++ {
		size := w.draw("sizes")
		if err := within("elements of one spread", size, w.limits.SpreadElements); err != nil {
			return Workflow{}, err
		}
		w.line(1, "items = [values[i %% len(values)] if values else i for i in range(%d)]", size)
		w.line(1, "values = spread items:item%s -> @%s(item=item, value=value)", limit, action)
		w.line(1, "value = @%s(stage=%d, value=value, values=values)", action, stage)
	}
	w.line(1, "return value")
	return Workflow{}, nil
}

func layered() Shape {
	return Shape{
		Name: "layered", Doc: "a random graph in layers: a step takes results of the layer before; a layer begins when the one before is done",
		Parameters: []Parameter{
			{Name: "layers", Doc: "layers", Least: 1, Most: 10_000},
			{Name: "width", Doc: "steps of each layer", Kind: Law, Least: 1, Most: 10_000},
			{Name: "edges", Doc: "how likely a step takes each of the results of the layer before; it takes one at least", Kind: Share, Default: "0.5"},
			actionParameter,
		},
		write: writeLayered,
	}
}

func writeLayered(w *writer) (Workflow, error) {
	w.line(0, "fn main(input: [start], output: [value]):")
	before, unread, nodes := []string{"start"}, map[string]bool{}, 0
	for layer := 1; layer <= w.number("layers"); layer++ {
		width := w.draw("width")
		if nodes += width; nodes > w.limits.Nodes {
			return Workflow{}, within("nodes", nodes, w.limits.Nodes)
		}
		var here, calls []string
		for node := 1; node <= width; node++ {
			inputs := w.pick(before)
			for _, input := range inputs {
				delete(unread, input)
			}
			here = append(here, fmt.Sprintf("n%d_%d", layer, node))
			calls = append(calls, fmt.Sprintf("@%s(layer=%d, node=%d, inputs=[%s])", w.name("action"), layer, node, strings.Join(inputs, ", ")))
		}
		if width == 1 {
			w.line(1, "%s = %s", here[0], calls[0])
		} else {
			w.line(1, "%s = parallel:", strings.Join(here, ", "))
			for _, call := range calls {
				w.line(2, "%s", call)
			}
		}
		for _, name := range here {
			unread[name] = true
		}
		before = here
	}
	w.line(1, "value = @%s(inputs=[%s])", w.name("action"), strings.Join(slices.SortedFunc(maps.Keys(unread), byPlace), ", "))
	w.line(1, "return value")
	return Workflow{}, nil
}

func (w *writer) pick(from []string) []string {
	var picked []string
	for _, name := range from {
		if w.rand.Float64() < w.share("edges") {
			picked = append(picked, name)
		}
	}
	if len(picked) == 0 {
		picked = append(picked, from[w.rand.IntN(len(from))])
	}
	return picked
}

func byPlace(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
