package pgserver

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// childVariable makes this test binary a child: a program that opens a server, reports it and follows its mode. The tests that
// end a program with a signal need one.
const childVariable = "PULLEY_PGSERVER_TEST_CHILD"

// What a child does once its standard input ends, or when it is interrupted.
const (
	childClose     = "close"     // closes the server, then exits
	childExit      = "exit"      // exits without closing
	childPanic     = "panic"     // dies of a panic
	childInterrupt = "interrupt" // on SIGINT: queries the server, closes it, exits
	childNoWay     = "no way"    // opens where no way exists, and reports the error
)

type childReport struct {
	DSN       string
	Describe  string
	Dirs      []string
	Watchdog  int
	Server    int
	Container string
	Err       string
}

func TestMain(m *testing.M) {
	if mode := os.Getenv(childVariable); mode != "" {
		os.Exit(runChild(mode))
	}
	for _, name := range []string{"PULLEY_DSN", "PULLEY_POSTGRES_IMAGE", "PULLEY_POSTGRES_MIRROR", "PULLEY_POSTGRES_VERSION"} {
		if value, ok := os.LookupEnv(name); ok {
			givenEnv[name] = value
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(sharing{m})
}

var shared struct {
	once   sync.Once
	server *Server
	err    error
}

type sharing struct{ m *testing.M }

func (s sharing) Run() int {
	code := s.m.Run()
	if shared.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), waitsMax)
		defer cancel()
		if err := shared.server.Close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "closing the server that tests shared:", err)
			code = max(code, 1)
		}
	}
	return code
}

func sharedServer(t *testing.T) *Server {
	t.Helper()
	needBinaries(t)
	shared.once.Do(func() {
		shared.server, shared.err = Open(t.Context(), Options{Ways: []Way{WayLocal}, StartTimeout: waitsMax})
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// waitsMax bounds every wait: no healthy machine reaches it.
const waitsMax = 15 * time.Minute

var givenEnv = map[string]string{}

func runChild(mode string) int {
	ctx, cancel := context.WithTimeout(context.Background(), waitsMax)
	defer cancel()
	o := Options{Ways: []Way{WayLocal}, TempDir: os.Getenv("CHILD_TEMPDIR"), Image: os.Getenv("CHILD_IMAGE"), StartTimeout: waitsMax}
	switch {
	case o.Image != "":
		o.Ways = []Way{WayDocker}
	case mode == childNoWay:
		binaryPlaces = nil
		o.Ways = nil
	}
	s, err := Open(ctx, o)
	if err != nil {
		printReport(childReport{Err: err.Error()})
		return 1
	}
	report := childReport{DSN: s.DSN(), Describe: s.Describe()}
	if c := s.cluster; c != nil {
		report.Dirs, report.Watchdog, report.Server = c.place.dirs(), c.watchdog.PID(), c.proc.cmd.Process.Pid
	} else {
		if os.Getenv("CHILD_RESTARTS") != "" {
			if err := s.restarted(ctx); err != nil {
				printReport(childReport{Err: err.Error()})
				return 1
			}
		}
		report.Container = s.container.id
	}
	interrupted, stop := signal.NotifyContext(ctx, os.Interrupt)
	if mode != childInterrupt {
		stop()
		dieOfIgnoredSignals()
	}
	printReport(report)
	switch mode {
	case childInterrupt:
		<-interrupted.Done()
		if _, err := inspect(ctx, s.DSN(), wanted{}); err != nil {
			printReport(childReport{Err: err.Error()})
			return 1
		}
	default:
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	switch mode {
	case childExit:
		return 0
	case childPanic:
		panic("told to")
	}
	if err := s.Close(ctx); err != nil {
		printReport(childReport{Err: err.Error()})
		return 1
	}
	return 0
}

func (s *Server) restarted(ctx context.Context) error {
	c, err := s.Container()
	if err != nil {
		return err
	}
	return errors.Join(c.Restart(ctx), c.Disconnect(ctx), c.Connect(ctx), c.Restart(ctx))
}

// dieOfIgnoredSignals makes the process die without cleanup of signals that it ignores, as nohup and a shell's background jobs
// do.
func dieOfIgnoredSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			received := make(chan os.Signal, 1)
			signal.Notify(received, s)
			go func() {
				<-received
				os.Exit(1)
			}()
		}
	}
}

func printReport(r childReport) {
	line, _ := json.Marshal(r)
	fmt.Println(string(line))
}

type child struct {
	childReport
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
	done   chan struct{}
}

func startChild(t *testing.T, program, mode string, attr *syscall.SysProcAttr, env ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*waitsMax) // kills a child that hangs
	t.Cleanup(cancel)
	c := &child{cmd: exec.CommandContext(ctx, program), stderr: &strings.Builder{}, done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), append([]string{childVariable + "=" + mode}, env...)...)
	c.cmd.Dir = "/"
	c.cmd.Stderr = c.stderr
	c.cmd.SysProcAttr = attr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.stdout = bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill()
		c.wait(t)
	})
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v; %s", err, c.stderr)
	}
	if err := json.Unmarshal([]byte(line), &c.childReport); err != nil {
		t.Fatalf("the child said %q: %v", line, err)
	}
	return c
}

// wait reads the rest of the child's output and reaps it. It may be called again.
func (c *child) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.done:
		return
	default:
	}
	rest, _ := io.ReadAll(c.stdout)
	_ = c.cmd.Wait()
	close(c.done)
	var report childReport
	if json.Unmarshal(rest, &report) == nil && report.Err != "" {
		t.Errorf("the child says: %s", report.Err)
	}
}

// selfAs returns this test binary, or a copy of it where another account may run it.
func selfAs(t *testing.T, who *account) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if who == nil || who.checkEnter(filepath.Dir(self)) == nil {
		return self
	}
	content, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(openDir(t), "pgserver.test")
	// No other test may start a process concurrently: it would briefly inherit the file open for writing, and a file open for
	// writing cannot be run.
	syscall.ForkLock.RLock()
	err = os.WriteFile(copied, content, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "pulley-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return dir
}

// need handles a missing requirement: on CI, where everything must be tried, the test fails. Elsewhere it is skipped with the
// reason.
func need(t *testing.T, missing error, what string) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("CI must have %s: %v", what, missing)
	default:
		t.Skipf("this needs %s: %v", what, missing)
	}
}

func needBinaries(t *testing.T) binaries {
	t.Helper()
	who, err := serverAccount()
	if err != nil {
		t.Fatal(err)
	}
	found, unfit := findBinaries(t.Context(), who)
	if len(found) == 0 {
		need(t, errors.Join(append(unfit, errors.New("none found"))...), "the binaries of a Postgres")
	}
	return found[0]
}

func openTest(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Log == nil {
		o.Log = func(line string) { t.Log(line) }
	}
	o.StartTimeout = cmp.Or(o.StartTimeout, waitsMax)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openLocalTest(t *testing.T) *Server {
	t.Helper()
	needBinaries(t)
	return openTest(t, Options{Ways: []Way{WayLocal}})
}

func execSQL(t *testing.T, dsn, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(waitsMax)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("not within %s: %s", waitsMax, what)
		case <-tick.C:
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return !exists("/proc/self") // no /proc here: rely on the signal
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}
