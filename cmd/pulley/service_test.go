package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/internal/pgtest"
)

const unitFile = "packaging/pulley-work.service"

// TestServiceOfSystemd runs the command of the unit as systemd does: it receives a message when the engine works, and when it ends.
func TestServiceOfSystemd(t *testing.T) {
	t.Parallel()
	unit, err := os.ReadFile(filepath.Join(root, unitFile))
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/pulley (work .*) \$PULLEY_WORK$`).FindSubmatch(unit)
	if line == nil {
		t.Fatalf("%s starts no pulley work", unitFile)
	}
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "notify"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	if err := manager.SetReadDeadline(time.Now().Add(deadline)); err != nil {
		t.Fatal(err)
	}
	told := func() string {
		t.Helper()
		state := make([]byte, 100)
		n, err := manager.Read(state)
		if err != nil {
			t.Fatal(err)
		}
		return string(state[:n])
	}
	cmd := command(t, append(strings.Fields(string(line[1])), "--retention", "30d", "--schema", pgtest.Schema(t))...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.Env = append(cmd.Env, ownDSN+"="+pgtest.DSN(t), "NOTIFY_SOCKET="+manager.LocalAddr().String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "READY=1" {
		t.Errorf("systemd receives %q when the engine works", got)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("systemd receives %q when the engine ends", got)
	}
	if code := exitStatus(t, cmd.Wait()); code != 128+int(syscall.SIGTERM) || !strings.Contains(string(unit), "SuccessExitStatus=143") {
		t.Errorf("exit status %d: %s", code, stderr.String())
	}
}
