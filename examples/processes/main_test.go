package main

import (
	"bytes"
	"encoding/json"
	"runtime"
	"testing"

	"pulley/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t), "--runs", "20", "--tasks", "5", "--at-once", "30", "--sleep", "1ms"}, &out); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got.Tasks != 100 || got.PerS <= 0 || got.P50MS < 1 || got.P99MS < got.P50MS || (got.PeakBytes > 0) != (runtime.GOOS == "linux") {
		t.Errorf("%+v", got)
	}
}

func TestRunRefuses(t *testing.T) {
	t.Setenv("PULLEY_DSN", "")
	for _, args := range [][]string{{}, {"--dsn", "x", "--tasks", "0"}, {"--dsn", "x", "--runs", "100001"}, {"--dsn", "x", "--sleep", "2m"}, {"--dsn", "host=/nowhere"}, {"--none"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, &out); err == nil || out.Len() > 0 {
			t.Errorf("%q: %v, %q", args, err, out.String())
		}
	}
}
