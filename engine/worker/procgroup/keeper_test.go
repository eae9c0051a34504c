package procgroup_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/engine/worker/procgroup"
	"pulley/internal/depth"
	"pulley/internal/pause"
	"pulley/internal/procenv"
)

// childVariable makes the test's program an engine that starts processes, prints its mark, and waits to be killed.
const childVariable = "PULLEY_TEST_PROCGROUP"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		if err := beKilled(); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// family is a process with a child in its group and a grandchild in its own session, all of which ignore every signal they can.
// It reports when these three are running. What they start afterwards may come later.
const family = `trap '' HUP INT TERM
sleep 600 &
setsid sh -c 'trap "" HUP INT TERM; echo far; sleep 600' &
read line
echo all
while :; do sleep 600; done`

const within = 5 * time.Minute

func beKilled() error {
	k, err := procgroup.New()
	if err != nil {
		return err
	}
	for range 3 {
		if _, _, err := startFamily(k, procgroup.Limits{}); err != nil {
			return err
		}
	}
	fmt.Println(k.Tag())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

func startFamily(k *procgroup.Supervisor, limits procgroup.Limits) (*procgroup.Group, *os.File, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	g, err := k.Start(procgroup.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", family}, Stdin: inR, Stdout: outW}, limits)
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		return nil, nil, err
	}
	lines := bufio.NewReader(outR)
	for _, want := range []string{"far\n", "all\n"} {
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			return nil, nil, fmt.Errorf("the family says %q, %v; want %q", got, err, want)
		}
		if want == "far\n" {
			if _, err := inW.WriteString("\n"); err != nil {
				return nil, nil, err
			}
		}
	}
	return g, outR, inW.Close()
}

func needMarks(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil || !exists("/proc/self/environ") {
		if os.Getenv("CI") == "true" {
			t.Fatal("CI must have Linux' /proc and setsid")
		}
		t.Skip("this needs Linux' /proc and setsid")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func newKeeper(t *testing.T) *procgroup.Supervisor {
	t.Helper()
	depth.Needs(t, "other processes")
	k, err := procgroup.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		if err := k.Close(ctx); err != nil {
			t.Error(err)
		}
		if left := procenv.Find(k.Tag(), procenv.Settled); len(left) > 0 {
			t.Errorf("processes are left: %v", left)
		}
	})
	return k
}

func awaitNobody(t *testing.T, mark string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	for range pause.Tries(ctx, 20*time.Millisecond) {
		if len(procenv.Find(mark, procenv.Settled)) == 0 {
			return
		}
	}
	t.Fatalf("processes are left: %v", procenv.Find(mark, procenv.Settled))
}

// A group's processes ignore signals, one of them in its own session. The supervisor keeps running.
func TestKillTakesAll(t *testing.T) {
	needMarks(t)
	t.Parallel()
	k := newKeeper(t)
	g, out, err := startFamily(k, procgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	if n := len(procenv.Find(k.Tag(), procenv.Settled)); n < 3 {
		t.Errorf("%d processes carry the mark; want the three of the family at least", n)
	}
	g.Stop(0)
	<-g.Done()
	if s := g.State(); s == nil || !strings.Contains(s.String(), "killed") {
		t.Errorf("the first process ended with %v", s)
	}
	awaitNobody(t, k.Tag())
	g.Kill()
}

// When a group's first process ends by itself, its children of both kinds must end too.
func TestAnEndTakesTheRestAlong(t *testing.T) {
	needMarks(t)
	t.Parallel()
	k := newKeeper(t)
	script := strings.Replace(family, "while :; do sleep 600; done", "exit 7", 1)
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g, err := k.Start(procgroup.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Stdout: outW}, procgroup.Limits{})
	_ = outW.Close()
	if err != nil {
		t.Fatal(err)
	}
	<-g.Done()
	if got := g.State().ExitCode(); got != 7 {
		t.Errorf("the status is %d, want 7", got)
	}
	awaitNobody(t, k.Tag())
	if _, err := io.Copy(io.Discard, outR); err != nil { // ends, since no process holds the other end any more
		t.Error(err)
	}
	_ = outR.Close()
}

// Stop must let a suspended process end cleanly.
func TestStopIsGentleFirst(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	g, err := k.Start(procgroup.Program{
		Path: "/bin/sh", Stdout: outW,
		Argv: []string{"sh", "-c", `trap 'echo gently; exit 3' TERM; echo ready; while :; do sleep 0.01; done`},
	}, procgroup.Limits{})
	_ = outW.Close()
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(outR)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	g.Signal(syscall.SIGSTOP) // if the program stopped itself, that might come only after Stop has continued it
	g.Stop(within)
	<-g.Done()
	if line, err := lines.ReadString('\n'); line != "gently\n" || g.State().ExitCode() != 3 {
		t.Errorf("it ended with %v, and said %q, %v", g.State(), line, err)
	}
	_ = outR.Close()
}

func TestTooManyProcesses(t *testing.T) {
	needMarks(t)
	t.Parallel()
	k := newKeeper(t)
	few, out, err := startFamily(k, procgroup.Limits{Processes: 30})
	if err != nil {
		t.Fatal(err)
	}
	few.Kill()
	<-few.Done()
	if few.Overrun() {
		t.Error("a family of a few processes is too large, where 30 are allowed")
	}
	_ = out.Close()
	many, err := k.Start(procgroup.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 600 & sleep 600 & sleep 600 & sleep 600 & wait"}}, procgroup.Limits{Processes: 3})
	if err != nil {
		t.Fatal(err)
	}
	<-many.Done()
	if !many.Overrun() {
		t.Error("five processes are not too many, where 3 are allowed")
	}
}

func TestNothingIsStartedAfterClose(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	if _, err := k.Start(procgroup.Program{Path: "/does/not/exist", Argv: []string{"x"}}, procgroup.Limits{}); err == nil {
		t.Error("a program that is not there was started")
	}
	if _, err := k.Start(procgroup.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 600"}}, procgroup.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Start(procgroup.Program{Path: "/bin/true", Argv: []string{"true"}}, procgroup.Limits{}); err == nil {
		t.Error("a keeper that is closed started a process")
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A supervisor is closed during continuous starts: none may succeed afterwards, and no process may be left.
func TestCloseWhileOthersStart(t *testing.T) {
	t.Parallel()
	k := newKeeper(t)
	var all sync.WaitGroup
	started := make(chan struct{}, 1000)
	for range 8 {
		all.Go(func() {
			for {
				g, err := k.Start(procgroup.Program{Path: "/bin/sh", Argv: []string{"sh", "-c", "sleep 600 & sleep 600"}}, procgroup.Limits{})
				if err != nil {
					return
				}
				select {
				case started <- struct{}{}:
				default:
					t.Error("the keeper continues starting processes")
					return
				}
				if g.Pid()%2 == 0 {
					g.Kill()
					<-g.Done()
				}
			}
		})
	}
	for range 20 {
		<-started
	}
	if err := k.Close(t.Context()); err != nil {
		t.Error(err)
	}
	all.Wait()
}

// The watchdog must end the processes of a killed engine.
func TestSIGKILLTakesAll(t *testing.T) {
	needMarks(t)
	depth.Needs(t, "a second process")
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	mark, err := bufio.NewReader(out).ReadString('\n')
	mark = strings.TrimSpace(mark)
	if err != nil || !strings.HasPrefix(mark, procgroup.Variable+"=") {
		t.Fatalf("the engine says %q, %v", mark, err)
	}
	if n := len(procenv.Find(mark, procenv.Settled)); n < 12 {
		t.Errorf("%d processes carry the mark; want the twelve of three families at least", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	awaitNobody(t, mark)
}

func TestEnviron(t *testing.T) {
	t.Setenv("PULLEY_TEST_ENVIRON", "old")
	t.Setenv(procgroup.Variable, "of somebody else")
	env := "\n" + strings.Join(procgroup.Environ(map[string]string{"PULLEY_TEST_ENVIRON": "new"}), "\n") + "\n"
	if !strings.Contains(env, "\nPULLEY_TEST_ENVIRON=new\n") || strings.Contains(env, "=old\n") || strings.Contains(env, procgroup.Variable) {
		t.Errorf("the environment is %s", env)
	}
}
