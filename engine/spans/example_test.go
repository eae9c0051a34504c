package spans_test

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"pulley/engine"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/spans"
	"pulley/engine/worker"
)

// An exporter of OpenTelemetry, such as that of package otlptracehttp, takes the place of the one in memory.
func Example() {
	if err := recordOne(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// @greet: child of an instance
	// greeting.ir: an instance
}

func recordOne(ctx context.Context) error {
	exporter := tracetest.NewInMemoryExporter()
	recorder, err := spans.New(spans.Config{Exporter: &kept{exporter}})
	if err != nil {
		return err
	}
	actions, err := worker.NewRegistry(worker.Action{Name: "greet", Run: func(context.Context, worker.Call) (any, error) { return "hello", nil }})
	if err != nil {
		return err
	}
	store := memory.New(memory.Options{})
	defer store.Close()
	e, err := engine.New(engine.Config{Backend: store, Workers: recorder.Workers(actions), Observer: recorder.Observer(engine.Observer{})})
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	program, err := plan.CompileText("greeting.ir", []byte("fn main(input: [], output: [x]):\n    x = @greet()\n"), ir.Limits{})
	if err != nil {
		return err
	}
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: program})
	if err != nil {
		return err
	}
	_, err = e.Wait(ctx, id)
	if err := errors.Join(err, e.Stop(ctx), recorder.Close(ctx)); err != nil {
		return err
	}
	for _, span := range exporter.GetSpans() {
		if span.Parent.SpanID() == spans.InstanceSpan(id) {
			fmt.Printf("%s: child of an instance\n", span.Name)
		} else {
			fmt.Printf("%s: an instance\n", span.Name)
		}
	}
	return nil
}

// kept is an exporter in memory that keeps its spans when it is shut down.
type kept struct{ *tracetest.InMemoryExporter }

func (*kept) Shutdown(context.Context) error { return nil }
