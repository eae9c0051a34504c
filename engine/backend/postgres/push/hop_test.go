package push

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/backendtest"
	"pulley/engine/backend/postgres"
	"pulley/internal/pgtest"
)

func chained(n int) backendtest.Workflow {
	var source strings.Builder
	source.WriteString("\nfn main(input: [n], output: [x]):\n    x = n\n")
	for range n {
		source.WriteString("    x = @add(a=x, b=1)\n")
	}
	return backendtest.Workflow{Name: "chained", Input: `{"n": 0}`, Want: fmt.Sprint(n), Source: source.String()}
}

// BenchmarkHop completes the actions of a chain one by one: a hop is one call, one commit, one round trip.
func BenchmarkHop(b *testing.B) {
	p := chained(200).Program(b)
	push := open(b, postgres.Config{DSN: pgtest.DSN(b), Schema: pgtest.Schema(b), Shards: 1})
	ctx := context.Background()
	var tasks []backend.Task
	for b.Loop() {
		if len(tasks) == 0 {
			out, err := push.Submit(ctx, []backend.Submission{{ID: uuid.New(), Program: p, Input: []byte(`{"n": 0}`)}}, backendtest.Granted(1))
			if err != nil {
				b.Fatal(err)
			}
			tasks = out.Tasks
		}
		out, err := push.Complete(ctx, 0, []backend.Completion{backendtest.Ran(tasks[0])}, backendtest.Granted(1))
		if err != nil || backendtest.Answers(out) != "applied" {
			b.Fatal(backendtest.Answers(out), err)
		}
		tasks = out.Tasks
	}
}
