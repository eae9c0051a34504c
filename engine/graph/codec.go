package graph

import (
	"encoding/json"
	"fmt"
)

// Encode returns the graph's definition as JSON. Equal graphs have equal encodings.
func Encode(g *Graph) ([]byte, error) {
	data, err := json.Marshal(g)
	if err != nil {
		return nil, fmt.Errorf("graph %s: encode: %w", g.Name, err)
	}
	return data, nil
}

// Decode decodes and checks a definition made by Encode.
func Decode(data []byte) (*Graph, error) {
	g := &Graph{}
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("graph definition: %w", err)
	}
	if err := g.Check(); err != nil {
		return nil, err
	}
	return g, nil
}
