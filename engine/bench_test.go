package engine

import (
	"encoding/json"
	"fmt"
	"testing"

	"pulley/engine/backend/memory"
	"pulley/engine/plan"
)

// BenchmarkInstance measures the engine's own share: the store costs almost nothing. The metric counts actions and barriers.
func BenchmarkInstance(b *testing.B) {
	for _, c := range []struct {
		name    string
		program *plan.Program
		input   string
		nodes   int
	}{
		{"chain=100", chain(b, 100), `{"x": 0}`, 100},
		{"fanout=1000", fanOut(b), `{"count": 1000}`, 1003},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := memory.New(memory.Options{})
			defer store.Close()
			e := start(b, Config{Backend: store})
			for b.Loop() {
				if inst := run(b, e, c.program, c.input); inst.Failure != nil {
					b.Fatal(inst.Failure)
				}
			}
			b.ReportMetric(float64(b.N*c.nodes)/b.Elapsed().Seconds(), "nodes/s")
		})
	}
}

func BenchmarkManyChains(b *testing.B) {
	store := memory.New(memory.Options{Shards: 4})
	defer store.Close()
	e := start(b, Config{Backend: store})
	p := chain(b, 10)
	for b.Loop() {
		reqs := make([]SubmitRequest, 1000)
		for i := range reqs {
			reqs[i] = SubmitRequest{Program: p, Input: json.RawMessage(fmt.Sprintf(`{"x": %d}`, i))}
		}
		ids, err := e.SubmitAll(b.Context(), reqs)
		if err != nil {
			b.Fatal(err)
		}
		for _, id := range ids {
			if _, err := e.Wait(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*10_000)/b.Elapsed().Seconds(), "nodes/s")
}
