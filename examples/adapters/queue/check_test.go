package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"pulley/adapter"
	"pulley/adapter/check"
	"pulley/adapter/protocol"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// adapterVariable makes the test binary the adapter.
const adapterVariable = "PULLEY_TEST_ADAPTER"

func TestMain(m *testing.M) {
	if os.Getenv(adapterVariable) != "" {
		main() // exits
	}
	pgtest.Main(m)
}

// TestCheck holds the adapter to the protocol and to its promises, through deaths of processes and lost connections.
func TestCheck(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "other processes")
	r, err := check.Run(t.Context(), check.Options{
		Command: []string{"env", adapterVariable + "=yes", os.Args[0]}, DSN: pgtest.DSN(t), Timeout: time.Minute,
		Settings: map[string]string{"lease_ms": "500"}, Log: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Error(f)
	}
	if len(r.LeftOut) != 2 || !strings.HasPrefix(r.LeftOut[0], "order: ") || !strings.HasPrefix(r.LeftOut[1], "repeat: ") {
		t.Errorf("left out is %q", r.LeftOut)
	}
}

// TestOpenWithoutStore opens while the store does not answer: it may answer later.
func TestOpenWithoutStore(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	in := strings.NewReader(`{"pulley":"hello","version":1}
{"pulley":"setup","store":{"dsn":"postgres://pulley@127.0.0.1:1/nowhere?sslmode=disable"}}
{"pulley":"open","slots":1,"report":"tasks"}
{"pulley":"stop"}
`)
	if err := adapter.Serve(t.Context(), in, &out, &queue{}); err != nil || strings.Count(out.String(), `{"pulley":"ready"`) != 2 {
		t.Errorf("%v, and wrote %s", err, out.String())
	}
}

// TestWrongRequest has a submit that the store can never take.
func TestWrongRequest(t *testing.T) {
	t.Parallel()
	p := start(t, 0, true, setup(t, 2000))
	p.write(protocol.Request{Kind: protocol.KindSubmit, Batch: 1, Instances: []protocol.Instance{{ID: "a\x00b", Workload: "pair"}}})
	late := time.After(within)
	select {
	case m := <-p.answers:
		if m.Kind != protocol.KindError || m.Batch != 1 {
			t.Errorf("it answered %+v", m)
		}
	case <-late:
		t.Error("no answer")
	}
	p.run(protocol.Instance{ID: "i", Workload: "pair"})
	p.stop()
}
