package memory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/memory"
	"pulley/engine/plan"
)

func BenchmarkComplete(b *testing.B) {
	for _, c := range []struct {
		name, source string
		nodes        int
	}{
		{"chain=10", "fn main(input: [], output: [x]):\n    x = 0\n    for i in range(10):\n        x = @add(a=x, b=i)\n", 10},
		{"fanout=100", "fn main(input: [], output: [n]):\n    xs = spread range(100):i -> @double(value=i)\n    n = len(xs)\n", 100},
	} {
		for _, batch := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("%s/batch=%d", c.name, batch), func(b *testing.B) {
				program := backendtest.MustCompile(b, c.source)
				b.ReportAllocs()
				for b.Loop() {
					completeAll(b, program, 1000, batch)
				}
				b.ReportMetric(float64(b.N*1000*c.nodes)/b.Elapsed().Seconds(), "nodes/s")
			})
		}
	}
}

func completeAll(b *testing.B, program *plan.Program, instances, batch int) {
	b.Helper()
	store := memory.New(memory.Options{})
	defer store.Close()
	grant := backend.Grant{Owner: "bench", Max: 1 << 20, Lease: time.Minute}
	subs := make([]backend.Submission, instances)
	for i := range subs {
		subs[i] = backend.Submission{ID: uuid.UUID{1, byte(i), byte(i >> 8)}, Program: program, Input: json.RawMessage(`{}`)}
	}
	out, err := store.Submit(b.Context(), subs, grant)
	if err != nil {
		b.Fatal(err)
	}
	held, ended := out.Tasks, len(out.Ended)
	completions := make([]backend.Completion, 0, batch)
	for len(held) > 0 {
		n := min(batch, len(held))
		completions = completions[:0]
		for _, task := range held[:n] {
			completions = append(completions, backend.Completion{Lease: task.Lease, Program: program, Attempt: task.Attempt, Result: json.RawMessage("1")})
		}
		out, err := store.Complete(b.Context(), 0, completions, grant)
		if err != nil {
			b.Fatal(err)
		}
		held = append(held[n:], out.Tasks...)
		ended += len(out.Ended)
	}
	if ended != instances {
		b.Fatalf("%d of %d instances have ended", ended, instances)
	}
}
