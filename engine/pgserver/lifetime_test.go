package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pulley/internal/depth"
)

func TestServerEndsWithProgram(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	send := func(signal syscall.Signal) func(*testing.T, *child) {
		return func(t *testing.T, c *child) {
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	finish := func(t *testing.T, c *child) {
		if err := c.stdin.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, mode string
		end        func(*testing.T, *child)
		rare       bool // equal to another one for the server, so it only runs at night
	}{
		{"SIGKILL", childClose, send(syscall.SIGKILL), false},
		{"SIGTERM", childClose, send(syscall.SIGTERM), true},
		{"SIGINT", childClose, send(syscall.SIGINT), true},
		{"SIGHUP", childClose, send(syscall.SIGHUP), false},
		{"exit without Close", childExit, finish, false},
		{"panic", childPanic, finish, true},
		{"Close", childClose, finish, true},
	} {
		if test.rare && !depth.Night() {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := startChild(t, selfAs(t, nil), test.mode, nil, "CHILD_TEMPDIR="+openDir(t))
			if !running(c.Server) || !running(c.Watchdog) || len(c.Dirs) == 0 || !exists(c.Dirs[0]) {
				t.Fatalf("the child reports what is not there: %+v", c.childReport)
			}
			test.end(t, c)
			c.wait(t)
			assertExited(t, c)
		})
	}
}

func assertExited(t *testing.T, c *child) {
	t.Helper()
	eventually(t, "the server ended", func() bool { return !running(c.Server) })
	for _, dir := range c.Dirs {
		eventually(t, dir+" is removed", func() bool { return !exists(dir) })
	}
	eventually(t, "the watchdog ended", func() bool { return !running(c.Watchdog) })
}

// TestInterruptOfGroupSparesServer sends Ctrl-C to every process of the terminal's group: the program must keep its server, to
// end cleanly.
func TestInterruptOfGroupSparesServer(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	c := startChild(t, selfAs(t, nil), childInterrupt, &syscall.SysProcAttr{Setpgid: true}, "CHILD_TEMPDIR="+openDir(t))
	if err := syscall.Kill(-c.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c.wait(t) // fails the test if the server did not answer after the signal
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the child ended with %d; %s", code, c.stderr)
	}
	assertExited(t, c)
}

// TestNextRunRemovesLeftovers checks that, if the watchdog is killed with the program, the next run ends the server and removes
// the directory, but no running program's.
func TestNextRunRemovesLeftovers(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	dir := openDir(t)
	living := openTest(t, Options{Ways: []Way{WayLocal}, TempDir: dir})
	dead := startChild(t, selfAs(t, nil), childClose, nil, "CHILD_TEMPDIR="+dir)
	for _, pid := range []int{dead.Watchdog, dead.cmd.Process.Pid} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	dead.wait(t)
	if !running(dead.Server) || !exists(dead.Dirs[0]) {
		t.Fatal("nothing was left to remove: the test tests nothing")
	}

	var lines []string
	next := openTest(t, Options{Ways: []Way{WayLocal}, TempDir: dir, Log: func(line string) { lines = append(lines, line) }})
	if running(dead.Server) || exists(dead.Dirs[0]) {
		t.Errorf("the next run left the server (%v) or its directory (%v)", running(dead.Server), exists(dead.Dirs[0]))
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "removed "+dead.Dirs[0]) {
		t.Errorf("the removal is not said:\n%s", text)
	}
	for _, s := range []*Server{living, next} {
		if _, err := inspect(t.Context(), s.DSN(), wanted{}); err != nil {
			t.Errorf("a living server was hurt: %v", err)
		}
	}
}

func TestLeftovers(t *testing.T) {
	root := t.TempDir()
	held, err := makeRunDir(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer held.drop()
	dropped, err := makeRunDir(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	dropped.drop()
	fresh := filepath.Join(root, runDirPrefix+"fresh") // as if its owner were about to lock it
	other := filepath.Join(root, "pulley-other")
	for _, dir := range []string{fresh, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(other, filepath.Join(root, runDirPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	if got := leftovers([]string{root, filepath.Join(root, "missing")}); len(got) != 1 || got[0] != dropped.path {
		t.Errorf("leftovers are %q, want only %q", got, dropped.path)
	}
}

// TestWatchdogRemovesNothingElse checks that the watchdog only removes directories that pulley made, whatever its input.
func TestWatchdogRemovesNothingElse(t *testing.T) {
	root := t.TempDir()
	ours, others := filepath.Join(root, runDirPrefix+"a b'c"), filepath.Join(root, "precious")
	for _, dir := range []string{ours, others} {
		if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := clearLeftovers(t.Context(), []string{others, ours, root + "/", ""}); err != nil {
		t.Fatal(err)
	}
	if exists(ours) || !exists(filepath.Join(others, "deep")) {
		t.Errorf("ours is there: %v; the other is there: %v", exists(ours), exists(others))
	}
}

func TestLocalAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		need(t, errors.New("the tests run as an ordinary user"), "root")
	}
	s := sharedServer(t)
	info, err := os.Stat(s.cluster.place.data.path)
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid == 0 || uid != s.cluster.who.uid {
		t.Errorf("the directory belongs to %d, the account is %+v", uid, s.cluster.who)
	}
	if mode := info.Mode().Perm(); mode != 0o700 {
		t.Errorf("the directory is open to others: %v", mode)
	}
	checkLocal(t, s.Describe(), s.DSN())
}

func TestLocalAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	if os.Geteuid() != 0 {
		s := openLocalTest(t)
		checkLocal(t, s.Describe(), s.DSN())
		return
	}
	who := ordinaryUser(t)
	c := startChild(t, selfAs(t, who), childClose, who.attributes(), "CHILD_TEMPDIR="+openDir(t), "HOME=/")
	if c.Err != "" {
		t.Fatal(c.Err)
	}
	info, err := os.Stat(c.Dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != who.uid {
		t.Errorf("the directory belongs to %d, the user is %+v", uid, who)
	}
	checkLocal(t, c.Describe, c.DSN)
	if err := c.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
	assertExited(t, c)
}

func ordinaryUser(t *testing.T) *account {
	t.Helper()
	u, err := user.Lookup("nobody")
	need(t, err, "the account nobody")
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &account{name: u.Username, uid: uint32(uid), gid: uint32(gid)}
}

func checkLocal(t *testing.T, describe, dsn string) {
	t.Helper()
	f, err := inspect(t.Context(), dsn, wanted{})
	if err != nil {
		t.Fatal(err)
	}
	if weak := f.durability.Weakness(); weak != "" {
		t.Errorf("not durable: %s", weak)
	}
	if got := setting(t, dsn, "listen_addresses"); got != "" {
		t.Errorf("it listens on %q", got)
	}
	if !strings.HasPrefix(describe, "local binaries: PostgreSQL "+f.versionText+" in /") {
		t.Errorf("it describes itself as %q", describe)
	}
}

func TestStopAndStart(t *testing.T) {
	t.Parallel()
	s := openLocalTest(t)
	execSQL(t, s.DSN(), "CREATE TABLE kept (mode text)")
	for mode, name := range map[StopMode]string{StopFast: "fast", StopImmediate: "immediate", StopKill: "kill"} {
		execSQL(t, s.DSN(), "INSERT INTO kept VALUES ('"+name+"')")
		for range 2 {
			if err := s.Stop(t.Context(), mode); err != nil {
				t.Fatal(name, err)
			}
		}
		if _, err := inspect(t.Context(), s.DSN(), wanted{}); err == nil {
			t.Fatalf("%s: the server still answers", name)
		}
		for range 2 {
			if err := s.Start(t.Context()); err != nil {
				t.Fatal(name, err)
			}
		}
		execSQL(t, s.DSN(), "DO $$ BEGIN ASSERT (SELECT count(*) FROM kept WHERE mode = '"+name+"') = 1; END $$")
	}
	if err := s.Stop(t.Context(), StopMode(7)); err == nil {
		t.Error("a mode that does not exist is accepted")
	}
}

// TestAKilledServerLeavesNoSharedMemory checks that Close removes the shared memory of a killed server: the directory holds all
// but one segment, which the kernel lists.
func TestAKilledServerLeavesNoSharedMemory(t *testing.T) {
	t.Parallel()
	_, err := os.Stat(segmentsFile)
	need(t, err, "Linux' list of segments")
	s := openLocalTest(t)
	c := s.cluster
	text, err := os.ReadFile(filepath.Join(c.place.cluster(), "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.proc.cmd.Process.Pid))
	if err != nil || strings.Contains(string(maps), "/dev/shm/PostgreSQL.") {
		t.Errorf("the server has files in /dev/shm, which stay when it is killed: %v", err)
	}
	named := strings.Fields(strings.Split(string(text), "\n")[6])
	id := named[len(named)-1]
	if !segmentExists(t, id) {
		t.Fatalf("postmaster.pid names segment %s, which does not exist", id)
	}
	if err := s.Stop(t.Context(), StopKill); err != nil {
		t.Fatal(err)
	}
	if !segmentExists(t, id) {
		t.Fatal("a killed server gave its segment back: the test has nothing to look for")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if segmentExists(t, id) {
		t.Errorf("segment %s is left", id)
	}
}

const segmentsFile = "/proc/sysvipc/shm"

func segmentExists(t *testing.T, id string) bool {
	t.Helper()
	text, err := os.ReadFile(segmentsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}

func TestStartAfterDeathAndClose(t *testing.T) {
	t.Parallel()
	s := openLocalTest(t)
	proc := s.cluster.proc
	if err := proc.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-proc.done
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	dirs := s.cluster.place.dirs()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if err := s.Close(cancelled); err != nil { // it must end the server even if its context is cancelled
			t.Fatal(err)
		}
	}
	for _, dir := range dirs {
		if exists(dir) {
			t.Errorf("%s is still there", dir)
		}
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a closed server starts")
	}
}

func TestCloseWithoutWatchdog(t *testing.T) {
	t.Parallel()
	s := openLocalTest(t)
	c := s.cluster
	if err := syscall.Kill(c.watchdog.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.watchdog.Done()
	if _, err := inspect(t.Context(), s.DSN(), wanted{}); err != nil {
		t.Errorf("the server went with its watchdog: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := c.place.left(); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestLongTempDir(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	long := filepath.Join(openDir(t), strings.Repeat("long", 25))
	if err := os.Mkdir(long, 0o777); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, Options{Ways: []Way{WayLocal}, TempDir: long})
	p := s.cluster.place
	if !strings.HasPrefix(p.data.path, long) || strings.HasPrefix(p.socket.path, long) {
		t.Errorf("data in %s, socket in %s", p.data.path, p.socket.path)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exists(p.data.path) || exists(p.socket.path) {
		t.Error("a directory is left")
	}
}

func TestClosedTempDir(t *testing.T) {
	t.Parallel()
	needBinaries(t)
	if os.Geteuid() != 0 {
		need(t, errors.New("the tests run as an ordinary user"), "root")
	}
	closed := filepath.Join(openDir(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	var lines []string
	s := openTest(t, Options{Ways: []Way{WayLocal}, TempDir: closed, Log: func(line string) { lines = append(lines, line) }})
	if strings.HasPrefix(s.cluster.place.data.path, closed) {
		t.Error("the server lives where its account cannot go")
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "may not enter "+closed) {
		t.Errorf("the reason is not said:\n%s", text)
	}
}
