package cases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir/programs"
)

// racing makes a case of a graph whose loop ends each round with the first of several chains of actions. A continuation, not a
// completion, then cancels the other chains. The source runs one chain after another, so it makes all calls of the graph and ends
// like it.
func racing(number uint64) Case {
	r := rand.New(rand.NewPCG(number, 0x72616365))
	b := graph.New("racing", "ns")
	round := b.Each("rounds", "n", "ns")
	end := round.Output("n")
	var source strings.Builder
	source.WriteString("fn main(input: [ns], output: [rounds]):\n    rounds = []\n    for n in ns:\n")
	for chain := range 2 + r.IntN(3) {
		var last *graph.NodeBuilder
		value := "n"
		for link := range 1 + r.IntN(3) {
			name := fmt.Sprintf("x%d_%d", chain, link)
			node := round.Action(name, "add", graph.Arg{Name: "a", Value: graph.X(value)}, graph.Arg{Name: "b", Value: graph.X("1")})
			if last != nil {
				node.After(last)
			}
			fmt.Fprintf(&source, "        %s = @add(a=%s, b=1)\n", name, value)
			last, value = node, name
		}
		end.AfterAny(last)
	}
	source.WriteString("        rounds = rounds + [n]\n")
	b.Output("rounds").After(round.For())
	g, err := b.Build()
	if err != nil {
		panic(err)
	}
	definition, err := graph.Encode(g)
	if err != nil {
		panic(err)
	}
	ns, _ := json.Marshal([]int{5, 6, 7, 8}[:2+r.IntN(3)]) // numbers can be encoded
	return Case{Program: programs.Program{Source: source.String(), Input: json.RawMessage(`{"ns":` + string(ns) + `}`)}, Graph: definition}
}
