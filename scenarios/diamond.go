package scenarios

import (
	"fmt"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// diamond is a row of layers that narrow and widen, built in Go. Each has hard edges, a soft group of
// which all arrive and must count once, and a branch whose two ways meet again in the next layer.
func diamond() Scenario {
	return Scenario{
		Name:         "diamond",
		Doc:          "layers of 1 → 4 → 1 with hard edges, a soft group and a branch",
		SizeMeans:    "layers, of eight nodes each",
		DefaultSizes: []int{2, 8, 32},
		SizeMin:      1,
		build:        buildDiamond,
	}
}

const (
	diamondArms    = 4
	diamondNodes   = 1 + diamondArms + 1 + 1 + 1 // head, arms, gate, tail, one of up and down
	diamondModulus = 1_000_003
)

func buildDiamond(size int, opts Options) (Workload, error) {
	const start = 5
	if err := within("nodes", size, opts.Limits.WithDefaults().Nodes); err != nil {
		return Workload{}, err
	}
	g, err := diamondGraph(size, opts.Limits)
	if err != nil {
		return Workload{}, err
	}
	value := start
	for layer := 1; layer <= size; layer++ {
		value = diamondLayer(value, layer)
	}
	return Workload{
		Graph: g, Nodes: diamondNodes * size,
		Input:    fmt.Appendf(nil, `{"start":%d}`, start),
		Expected: number(value),
	}, nil
}

// diamondLayer computes what the nodes of one layer compute.
func diamondLayer(value, layer int) int {
	head := value%diamondModulus + layer
	tail := head // the gate
	for arm := 1; arm <= diamondArms; arm++ {
		tail += head*arm + arm
	}
	if tail%2 == 0 {
		return tail + layer
	}
	return 2 * tail
}

func diamondGraph(layers int, limits ir.Limits) (*graph.Graph, error) {
	b := graph.New("diamond", "start").Limits(limits)
	value, before := "start", []*graph.NodeBuilder(nil)
	for layer := 1; layer <= layers; layer++ {
		value, before = addLayer(b, layer, value, before)
	}
	b.Output(value).AfterAny(before...)
	return b.Build()
}

// addLayer adds a layer that goes on from the value of an expression, which one of the nodes before
// has computed. It gives the same of itself.
func addLayer(b *graph.Builder, layer int, value string, before []*graph.NodeBuilder) (string, []*graph.NodeBuilder) {
	name := func(part string) string { return fmt.Sprintf("%s%d", part, layer) }
	head := b.Action(name("head"), "add",
		argument("a", "(%s) %% %d", value, diamondModulus), argument("b", "%d", layer)).AfterAny(before...)

	var arms []*graph.NodeBuilder
	var values []string
	for arm := 1; arm <= diamondArms; arm++ {
		armName := fmt.Sprintf("arm%d_%d", layer, arm)
		arms = append(arms, b.Action(armName, "add",
			argument("a", "%s * %d", name("head"), arm), argument("b", "%d", arm)).After(head))
		values = append(values, armName)
	}
	// The gate opens with the first arm. It may not read an arm's value: which one that is, is open.
	gate := b.Action(name("gate"), "echo", argument("value", "%s", name("head"))).AfterAny(arms...)
	tail := b.Action(name("tail"), "sum", argument("values", "[%s]", strings.Join(append(values, name("gate")), ", "))).
		After(arms...).After(gate)

	up := b.Action(name("up"), "add", argument("a", "%s", name("tail")), argument("b", "%d", layer))
	down := b.Action(name("down"), "double", argument("value", "%s", name("tail")))
	even := fmt.Sprintf("%s %% 2 == 0", name("tail"))
	b.Branch(name("choose")).After(tail).Case(even, up).Else(down)
	return fmt.Sprintf("%s if %s else %s", name("up"), even, name("down")), []*graph.NodeBuilder{up, down}
}

// argument makes an argument of an expression's text.
func argument(name, format string, values ...any) graph.Arg {
	return graph.Arg{Name: name, Value: graph.X(fmt.Sprintf(format, values...))}
}
