package generate

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"pulley/engine/graph"
)

// diamond is a row of layers that narrow and widen, built in Go. Each has hard edges, a soft group of which all arrive and must
// count once, and a branch whose ways meet in the next layer.
func diamond() Shape {
	return Shape{
		Name: "diamond", Doc: "layers of 1 → arms → 1 with hard edges, a soft group and a branch: a graph that the language cannot say",
		Parameters: []Parameter{
			{Name: "layers", Doc: "layers, of four nodes and the arms each", Least: 1, Most: 1 << 40},
			{Name: "arms", Doc: "nodes side by side", Least: 1, Most: 1000, Default: "4"},
		},
		write: writeDiamond,
	}
}

const diamondModulus = 1_000_003

func writeDiamond(w *writer) (Workflow, error) {
	d := diamonds{layers: w.number("layers"), arms: w.number("arms")}
	perLayer := 1 + d.arms + 1 + 1 + 1 // head, arms, gate, tail, one of up and down
	if err := within("nodes", d.layers, w.limits.Nodes); err != nil {
		return Workflow{}, err
	}
	b := graph.New("diamond", "start").Limits(w.limits)
	value, before := "start", []*graph.NodeBuilder(nil)
	for layer := 1; layer <= d.layers; layer++ {
		value, before = d.add(b, layer, value, before)
	}
	b.Output(value).AfterAny(before...)
	g, err := b.Build()
	return Workflow{Graph: g, Nodes: perLayer * d.layers, Result: d.result}, err
}

type diamonds struct{ layers, arms int }

func (d diamonds) result(start int64) (json.RawMessage, error) {
	value := start
	for layer := int64(1); layer <= int64(d.layers); layer++ {
		head := mod(value, diamondModulus) + layer
		tail := head
		for arm := int64(1); arm <= int64(d.arms); arm++ {
			tail += head*arm + arm
		}
		if mod(tail, 2) == 0 {
			value = tail + layer
		} else {
			value = 2 * tail
		}
	}
	return strconv.AppendInt(nil, value, 10), nil
}

// mod is the language's %, whose result has the sign of b.
func mod(a, b int64) int64 {
	if m := a % b; m == 0 || m > 0 == (b > 0) {
		return m
	}
	return a%b + b
}

// add adds a layer that uses the value of an expression, computed by one of the nodes in before. It returns its own expression
// and nodes.
func (d diamonds) add(b *graph.Builder, layer int, value string, before []*graph.NodeBuilder) (string, []*graph.NodeBuilder) {
	name := func(part string) string { return fmt.Sprintf("%s%d", part, layer) }
	head := b.Action(name("head"), "add",
		argument("a", "(%s) %% %d", value, diamondModulus), argument("b", "%d", layer)).AfterAny(before...)

	var arms []*graph.NodeBuilder
	var values []string
	for arm := 1; arm <= d.arms; arm++ {
		armName := fmt.Sprintf("arm%d_%d", layer, arm)
		arms = append(arms, b.Action(armName, "add",
			argument("a", "%s * %d", name("head"), arm), argument("b", "%d", arm)).After(head))
		values = append(values, armName)
	}
	// The gate opens with the first arm. Any arm may be the first, so the gate may not read an arm's value.
	gate := b.Action(name("gate"), "echo", argument("value", "%s", name("head"))).AfterAny(arms...)
	tail := b.Action(name("tail"), "sum", argument("values", "[%s]", strings.Join(append(values, name("gate")), ", "))).
		After(arms...).After(gate)

	up := b.Action(name("up"), "add", argument("a", "%s", name("tail")), argument("b", "%d", layer))
	down := b.Action(name("down"), "double", argument("value", "%s", name("tail")))
	even := fmt.Sprintf("%s %% 2 == 0", name("tail"))
	b.Branch(name("choose")).After(tail).Case(even, up).Else(down)
	return fmt.Sprintf("%s if %s else %s", name("up"), even, name("down")), []*graph.NodeBuilder{up, down}
}

func argument(name, format string, values ...any) graph.Arg {
	return graph.Arg{Name: name, Value: graph.X(fmt.Sprintf(format, values...))}
}
