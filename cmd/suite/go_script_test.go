package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// building stands for go while it builds: it keeps files, also when a signal ends it.
const building = `#!/bin/sh
mkdir "$GOTMPDIR/go-build1" && echo "$@" && exec sleep 600
`

func TestAnInterruptedBuildLeavesNothing(t *testing.T) {
	taken := make(chan os.Signal, 1)
	signal.Notify(taken, syscall.SIGINT) // else the script inherits an ignored SIGINT, if this process has it
	defer signal.Stop(taken)
	fake, temporary := filepath.Join(t.TempDir(), "go"), t.TempDir()
	if err := os.WriteFile(fake, []byte(building), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	cmd := exec.Command("../../scripts/go.sh", "build", "./cmd/pulley")
	cmd.Env = append(os.Environ(), "GO="+fake, "TMPDIR="+temporary, "GOTMPDIR=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Minute
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "build ./cmd/pulley\n" {
		t.Errorf("go was called with %q, %v", line, err)
	}
	if left := entries(t, temporary); len(left) != 1 {
		t.Errorf("%q are there while go builds, want one directory", left)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit status 130", err)
	}
	if left := entries(t, temporary); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}
