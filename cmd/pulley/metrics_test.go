package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/cmd/pulley/console"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/pgtest"
)

// pulley work serves the numbers of its engine until it ends.
func TestMetricsOfWork(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: [x]):\n    x = @noop()\n")
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	cmd := raceCommand(t, append([]string{"work", "--metrics", "127.0.0.1:0"}, where...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := ""
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), "metrics for Prometheus at ")
	}
	if got := call(t, nil, append([]string{"submit", prog}, where...)...); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	ctx, cancel := depth.Within(t.Context(), t, deadline)
	defer cancel()
	text := ""
	for range pause.Tries(ctx, 50*time.Millisecond) {
		if text = readNumbers(t, address); strings.Contains(text, `pulley_instances_ended_total{status="completed"} 1`) {
			break
		}
	}
	for _, want := range []string{"# TYPE pulley_attempts_total counter", `pulley_attempts_total{action="noop",result="completed"} 1`, "pulley_commits_total "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %.2000s", want, text)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stderr); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // its status is 143
	if r, err := http.Get(address); err == nil {
		_ = r.Body.Close()
		t.Error("the address is served after the end")
	}
	for want, listen := range map[string]string{"write HOST:PORT, as in 127.0.0.1:9187": "9187", "choose another address": "192.0.2.1:1"} {
		got := call(t, nil, append([]string{"work", "--metrics", listen}, where...)...)
		if got.code != console.ExitUsage || !strings.Contains(got.err, want) {
			t.Errorf("%+v", got)
		}
	}
}

func readNumbers(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", r.StatusCode, err)
	}
	return string(text)
}
