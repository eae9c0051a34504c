package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/internal/pgtest"
)

// startServer starts a pulley serve, and returns its address when it has printed it.
func startServer(t *testing.T, cmd *exec.Cmd) (address string, log *bufio.Reader) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if address, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		said, _ := io.ReadAll(told)
		t.Fatalf("%v: %s", err, said)
	}
	return strings.TrimSpace(address), bufio.NewReader(told)
}

func get(t *testing.T, client *http.Client, address string) (int, string) {
	t.Helper()
	got, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, string(body)
}

func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := call(t, nil, "compare", "chain=3", "--backends", "memory", "--quick", "--load", "saturated", "--out", filepath.Join(dir, "first")); got.code != 0 {
		t.Fatal(got.err)
	}
	for sig, serve := range map[syscall.Signal]func(*testing.T, ...string) *exec.Cmd{syscall.SIGINT: raceCommand, syscall.SIGTERM: command} {
		cmd := serve(t, "serve", dir, "--listen", "127.0.0.1:0")
		address, log := startServer(t, cmd)
		if code, body := get(t, http.DefaultClient, address); code != 200 || !strings.Contains(body, `<a href="/run/first">first</a>`) || !strings.Contains(body, "memory does") {
			t.Errorf("status %d: %s", code, body)
		}
		if code, body := get(t, http.DefaultClient, address+"run/first"); code != 200 || !strings.Contains(body, "<svg") || !strings.Contains(body, "All runs") {
			t.Errorf("status %d: %.200s", code, body)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		told, _ := io.ReadAll(log)
		if code := exitStatus(t, cmd.Wait()); code != 128+int(sig) {
			t.Errorf("exit status %d after %v: %s", code, sig, told)
		}
		wantParts(t, string(told), "pulley: serving ", " GET /: 200, ", " GET /run/first: 200, ")
	}
}

func TestServeBeyondThisMachineDemandsAToken(t *testing.T) {
	t.Parallel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := command(t, "serve", dir, "--listen", "0.0.0.0:0")
	address, log := startServer(t, cmd)
	host, token, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/?token=")
	_, port, err := net.SplitHostPort(host)
	if err != nil || len(token) < 16 {
		t.Fatalf("the address is %q", address)
	}
	here := "http://127.0.0.1:" + port + "/" // the machine's own name may lead nowhere in a test
	client := &http.Client{Jar: jar}
	if code, _ := get(t, client, here); code != 401 {
		t.Errorf("without the token: status %d", code)
	}
	if code, body := get(t, client, here+"?token="+token); code != 200 || !strings.Contains(body, "no run here yet") {
		t.Errorf("with the token: status %d", code)
	}
	if code, _ := get(t, client, here); code != 200 {
		t.Errorf("with the cookie: status %d", code)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	told, _ := io.ReadAll(log)
	_ = cmd.Wait()
	if strings.Contains(string(told), token) || !strings.Contains(string(told), "GET /: 303") {
		t.Errorf("the log is %s", told)
	}
}

func TestServeMistakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	short := file(t, "token", "short\n")
	for want, args := range map[string][]string{
		"write HOST:PORT":            {dir, "--listen", "8090"},
		"address already in use":     {dir, "--listen", taken.Addr().String()},
		"choose another address":     {dir, "--listen", "127.0.0.1:99999"},
		"no such file or directory":  {filepath.Join(dir, "none"), "--listen", "127.0.0.1:0"},
		"is no directory":            {short, "--listen", "127.0.0.1:0"},
		"the token has 5":            {dir, "--listen", "127.0.0.1:0", "--token-file", short},
		"it is no plain file":        {dir, "--listen", "127.0.0.1:0", "--token-file", dir},
		"without a scheme or a port": {dir, "--listen", "127.0.0.1:0", "--alias", "https://runs.example"},
		"token-file":                 {dir, "--listen", "127.0.0.1:0", "--token-file", filepath.Join(dir, "none")},
	} {
		got := call(t, nil, append([]string{"serve"}, args...)...)
		if got.code != console.ExitUsage || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, want) || got.out != "" {
			t.Errorf("%v: exit status %d, %q, want one line with %q", args, got.code, got.err, want)
		}
	}
}

// pulley serve --instances shows a store's instances, and refuses what does not go with that.
func TestServeInstances(t *testing.T) {
	t.Parallel()
	where := []string{"--dsn", pgtest.DSN(t), "--schema", pgtest.SchemaOf(t, "push")}
	id := strings.TrimSpace(call(t, nil, append([]string{"submit", file(t, "approval.ir", approval)}, where...)...).out)
	address, _ := startServer(t, raceCommand(t, append([]string{"serve", "--instances", "--listen", "127.0.0.1:0"}, where...)...))
	for path, want := range map[string]string{"": "/instance/" + id, "instance/" + id: "It waits for an engine to take @wait_signal", "instance/x": "there is no such instance"} {
		if _, text := get(t, http.DefaultClient, address+path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	for want, args := range map[string][]string{
		"--dsn and --schema are for --instances":                                  {"--schema", "x"},
		"runs: --instances shows a store, and no directory; leave one out":        {"runs", "--instances"},
		"backend memory keeps nothing for another command; choose another":        {"--instances", "--backend", "memory", "--dsn", where[1]},
		"schema nobody_was_here: there is no such schema; --schema and --backend": {"--instances", "--dsn", where[1], "--schema", "nobody_was_here"},
	} {
		got := call(t, nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
		wantLine(t, got.err, want)
	}
}
