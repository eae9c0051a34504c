package cases

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir/programs"
)

// racing makes a case of a graph whose loop ends each round with the first of several chains of actions: what is still under
// way in the others is cancelled, by what goes on and not by a completion. The program beside it has one chain after the other,
// and so makes all calls that the graph may make, and ends as it does.
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
		panic(err) // such graphs are right
	}
	definition, err := graph.Encode(g)
	if err != nil {
		panic(err) // any graph can be
	}
	ns, _ := json.Marshal([]int{5, 6, 7, 8}[:2+r.IntN(3)]) // numbers can be
	return Case{Program: programs.Program{Source: source.String(), Input: json.RawMessage(`{"ns":` + string(ns) + `}`)}, Graph: definition}
}
