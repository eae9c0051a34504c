package scenarios

import (
	"embed"
	"fmt"
	"strings"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

//go:embed programs/*.ir
var programs embed.FS

// Source gives the text of one of the programs that come with pulley: fanout, loop, spread, pipeline,
// and orders, which is run by no scenario and shows the rest of the language.
func Source(name string) (string, error) {
	text, err := programs.ReadFile("programs/" + name + ".ir")
	if err == nil {
		return string(text), nil
	}
	entries, err := programs.ReadDir("programs")
	if err != nil {
		return "", fmt.Errorf("list the programs: %w", err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".ir"))
	}
	return "", fmt.Errorf("there is no program %q (programs: %s)", name, strings.Join(names, ", "))
}

// compile makes the graph of a program's text. name stands for the file in messages.
func compile(name, source string, limits ir.Limits) (*graph.Graph, error) {
	program, err := ir.Parse(name+".ir", []byte(source), limits)
	if err != nil {
		return nil, err
	}
	return graph.Compile(program, limits)
}

// fromProgram compiles one of the embedded programs into a workload that lacks what depends on size.
func fromProgram(name string, limits ir.Limits) (Workload, error) {
	source, err := Source(name)
	if err != nil {
		return Workload{}, err
	}
	g, err := compile(name, source, limits)
	if err != nil {
		return Workload{}, err
	}
	return Workload{Graph: g, Source: source}, nil
}
