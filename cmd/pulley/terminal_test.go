package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pulley/reports/record"
)

// openTerminal opens a pseudo terminal of 80 cells.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("a pseudo terminal cannot be opened: %v", err)
	}
	return master, slave
}

// inTerminal starts a command whose standard error, input and signals are of a terminal.
func inTerminal(t *testing.T, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	master, slave := openTerminal(t)
	cmd := command(t, args...)
	cmd.Env = append(cmd.Env, "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	return cmd, master
}

// rows are what stands on a terminal after a text. Only a return, the erasure of a line and line ends move its cursor.
func rows(t *testing.T, text string) []string {
	t.Helper()
	rows := []string{""}
	for part := range strings.SplitAfterSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		line, ended := strings.CutSuffix(part, "\n")
		parts := strings.Split(line, "\r\x1b[K")
		last := &rows[len(rows)-1]
		if *last += parts[0]; len(parts) > 1 {
			*last = parts[len(parts)-1]
		}
		if regexp.MustCompile(`[\x00-\x1f\x7f]`).MatchString(*last) {
			t.Errorf("the terminal gets %q", part)
		}
		if ended {
			rows = append(rows, "")
		}
	}
	return rows
}

func TestALineOnATerminalIsErasedInTheEnd(t *testing.T) {
	t.Parallel()
	cmd, terminal := inTerminal(t, "compare", "chain=3", "--backends", "memory", "--quick", "--out", t.TempDir())
	text := readAll(terminal)
	if code := exitStatus(t, cmd.Wait()); code != 0 {
		t.Errorf("exit status %d: %s", code, text)
	}
	if !regexp.MustCompile(`\r\x1b\[K\[#*\.*\]  \d+/10 runs`).MatchString(text) {
		t.Errorf("there is no line with a bar: %q", text)
	}
	left := rows(t, text)
	if last := left[len(left)-1]; last != "" {
		t.Errorf("the terminal ends with %q", last)
	}
	for _, row := range left {
		if strings.Contains(row, "/10 runs") {
			t.Errorf("the line is left: %q", row)
		}
	}
}

func TestCtrlCLeavesTheTerminalClean(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd, terminal := inTerminal(t, "sim", "--seeds", "0..999999999", "--out", dir)
	lines := bufio.NewReader(terminal)
	var text strings.Builder
	for !strings.Contains(text.String(), "seeds  ") { // the line is there, and something was played
		b, err := lines.ReadByte()
		if err != nil {
			t.Fatalf("%v after %q", err, text.String())
		}
		text.WriteByte(b)
	}
	p := readProgress(t, dir)
	if p.State != record.StateRunning || p.Kind != "sim" {
		t.Errorf("while it runs, the progress is %+v", p)
	}
	if _, err := terminal.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	text.WriteString(readAll(lines))
	if code := exitStatus(t, cmd.Wait()); code != 130 {
		t.Errorf("exit status %d", code)
	}
	left := rows(t, strings.ReplaceAll(text.String(), "^C", ""))
	if last := left[len(left)-1]; last != "" {
		t.Errorf("the terminal ends with %q", last)
	}
	if p := readProgress(t, dir); p.State != record.StateInterrupted {
		t.Errorf("in the end, the progress is %+v", p)
	}
}

func readProgress(t *testing.T, dir string) *record.Progress {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, record.ProgressFile))
	if err != nil {
		t.Fatal(err)
	}
	p, err := record.DecodeProgress(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// readAll ends where the other side of a terminal is closed, which Linux reports as an error.
func readAll(r io.Reader) string {
	var text strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		text.Write(buf[:n])
		if err != nil {
			return text.String()
		}
	}
}

func TestProgressFlag(t *testing.T) {
	t.Parallel()
	args := []string{"compare", "chain=3", "--backends", "memory", "--runs", "5", "--run-duration", "20ms", "--load", "saturated", "--out", t.TempDir()}
	for how, want := range map[string]bool{"plain": true, "none": false, "auto": true} {
		got := call(t, nil, append(args, "--progress", how)...)
		if got.code != 0 || strings.Contains(got.err, "[5/5] chain 3 on memory, saturated, run 5: ") != want || strings.Contains(got.err, "\x1b") {
			t.Errorf("--progress %s: exit status %d, %q", how, got.code, got.err)
		}
		if !strings.Contains(got.err, "report: ") {
			t.Errorf("--progress %s leaves out more than the progress: %q", how, got.err)
		}
	}
	if got := call(t, nil, append(args, "--progress", "loud")...); got.code != 2 || strings.Count(got.err, "\n") != 1 {
		t.Errorf("exit status %d, %q", got.code, got.err)
	}
	if got := call(t, nil, append(args, "-q", "--progress", "plain")...); got.err != "" {
		t.Errorf("-q prints %q", got.err)
	}
}
