package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/internal/pgtest"
)

// TestTestsOfSecurityExist checks that the page about security names tests which are there.
func TestTestsOfSecurityExist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`((?:Test|Fuzz|Example)[A-Z]\\w*)`").FindAllStringSubmatch(pageText(t, "docs/security.md"), -1)
	if len(named) < 20 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		found, err := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "--untracked", "-qE", `^func `+name[1]+`\(`, "--", "*_test.go").CombinedOutput()
		if err != nil {
			t.Errorf("there is no %s: %v %s", name[1], err, found)
		}
	}
}

// TestNoPasswordOnACommandLine has pulley start processes that use a database, and reads the command lines of all processes
// while they run.
func TestNoPasswordOnACommandLine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("command lines are read from /proc")
	}
	const password = "nobody-may-see-this"
	config, err := pgx.ParseConfig(pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "adapter", "check", "--timeout", "1m", mustAbs(t, os.Args[0]), "adapter", "serve", "push")
	cmd.Env = append(cmd.Env, ownDSN+"="+as(t, pgtest.DSN(t), config.User, password))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	served := 0
	for done := false; !done; {
		select {
		case err := <-ended:
			done = true
			if err != nil || strings.Contains(out.String(), password) {
				t.Errorf("%v: %s", err, out.String())
			}
		case <-tick.C:
			files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // of Linux
			for _, file := range files {
				line, err := os.ReadFile(file)
				if err != nil {
					continue // it ended
				}
				if bytes.Contains(line, []byte(password)) {
					t.Errorf("a command line has the password: %q", line)
				}
				if bytes.HasSuffix(line, []byte("adapter\x00serve\x00push\x00")) {
					served++
				}
			}
		}
	}
	if served < 3 {
		t.Errorf("inconclusive: the process of the database was seen %d times", served)
	}
}

func mustAbs(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
