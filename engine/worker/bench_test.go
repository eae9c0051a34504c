package worker_test

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/worker"
)

// The action does almost nothing: the benchmark measures the call's overhead.
func BenchmarkExecute(b *testing.B) {
	r, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		b.Fatal(err)
	}
	task := backend.Task{
		Lease:  backend.Lease{Key: backend.Key{Instance: uuid.New(), Run: graph.Run{Node: 1}}, Token: 1},
		Action: "add", Args: json.RawMessage(`{"a":17,"b":4}`), Attempt: 1,
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, failure := r.Execute(b.Context(), task); failure != nil {
			b.Fatal(failure)
		}
	}
}
