package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"

	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// More tasks run at once than an engine has slots by default.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--dsn", pgtest.DSN(t), "--tasks", "100"}, &out); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got.Completed != 100 || (got.PeakBytes > 0) != (runtime.GOOS == "linux") {
		t.Errorf("%+v", got)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Setenv("PULLEY_DSN", "")
	for _, args := range [][]string{{}, {"--dsn", "x", "--tasks", "0"}, {"--dsn", "x", "--tasks", "10001"}, {"--dsn", "host=/nowhere"}, {"--none"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, out.String())
		}
	}
}
