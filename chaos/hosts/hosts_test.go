package hosts

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"go.uber.org/goleak"

	"pulley/internal/pgtest"
)

const roleVariable = "PULLEY_HOSTS_TEST"

// patience bounds the wait for what must happen, quiet the wait for what must not.
const (
	patience = 4 * time.Minute
	quiet    = 300 * time.Millisecond
)

func TestMain(m *testing.M) {
	label += ".test"
	switch os.Getenv(roleVariable) {
	case "hosted":
		hosted()
	case "run":
		if err := abandon(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	default:
		goleak.VerifyTestMain(m)
	}
}

// hosted is a process in a host. It executes what it reads: say WORDS, exit, die, dial ADDRESS, send.
func hosted() {
	var conn net.Conn
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		word, rest, _ := strings.Cut(in.Text(), " ")
		var err error
		switch word {
		case "die": // its output must not be lost although it is not being read
			for i := range 1000 {
				fmt.Println("word", i)
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				panic(err)
			}
			select {}
		case "exit":
			fmt.Fprintln(os.Stderr, "last words")
			syscall.Exit(3) // os.Exit may print something at the end, such as coverage
		case "dial":
			conn, err = net.Dial("tcp", rest)
		case "send":
			_, err = io.WriteString(conn, rest+"\n")
		}
		fmt.Println(rest, err)
	}
}

// abandon is a run with two hosts, one paused, that is killed.
func abandon() error {
	ctx := context.Background()
	h, err := Open(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := h.Add(ctx); err != nil {
		return err
	}
	paused, err := h.Add(ctx)
	if err != nil {
		return err
	}
	if err := paused.Pause(ctx); err != nil {
		return err
	}
	fmt.Println(h.folder.path)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// open opens hosts until the test ends, and keeps the log.
func open(t *testing.T) (h *Hosts, logged func() string) {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	h, err := Open(t.Context(), func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(lines, "\n")
	}
}

func add(t *testing.T, h *Hosts) *Host {
	t.Helper()
	one, err := h.Add(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// running is a process and its output.
type running struct {
	*Process
	t    *testing.T
	said *strings.Builder // its standard error; read after it has ended
	out  *bufio.Reader
}

func start(t *testing.T, h *Host) *running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := &running{t: t, said: &strings.Builder{}}
	p, err := h.Start(ctx, []string{"env", "GORACE=atexit_sleep_ms=0", Program}, []string{roleVariable + "=hosted"}, r.said)
	if err != nil {
		t.Fatal(err)
	}
	r.Process, r.out = p, bufio.NewReader(p.Stdout)
	return r
}

func (r *running) tell(words string) {
	r.t.Helper()
	if _, err := io.WriteString(r.Stdin, words+"\n"); err != nil {
		r.t.Error(err)
	}
}

// hear returns the next line, or how the output ended.
func (r *running) hear() string {
	line, err := r.out.ReadString('\n')
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(line, "\n")
}

// want sends words and checks the answer.
func (r *running) want(words, answer string) {
	r.t.Helper()
	if r.tell(words); answer != "" {
		if got := r.hear(); got != answer {
			r.t.Errorf("after %q it says %q, want %q", words, got, answer)
		}
	}
}

// end checks that the output has ended and returns how the process ended.
func (r *running) end() string {
	r.t.Helper()
	if rest, err := io.ReadAll(r.out); err != nil || len(rest) > 0 {
		r.t.Errorf("it also says %q, %v", rest, err)
	}
	_ = r.Stdin.Close()
	if err := r.Wait(); err != nil {
		return err.Error()
	}
	return ""
}

// TestProcesses runs processes in a host, one after another, that end in every way.
func TestProcesses(t *testing.T) {
	pgtest.NeedImage(t)
	h, _ := open(t)
	host := add(t, h)

	p := start(t, host)
	p.want("say a word", "a word <nil>")
	_ = p.Stdin.Close()
	if how := p.end(); how != "" {
		t.Errorf("after its input ended it ends with %q", how)
	}

	p = start(t, host)
	p.want("exit", "EOF")
	if how := p.end(); how != "exit status 3" || p.said.String() != "last words\n" {
		t.Errorf("it ends with %q, and said %q", how, p.said)
	}

	p = start(t, host)
	p.tell("die")
	for i := range 1000 {
		if got, want := p.hear(), fmt.Sprint("word ", i); got != want {
			t.Fatalf("it said %q before it was killed, want %q", got, want)
		}
	}
	if how := p.end(); how != "exit status 137" {
		t.Errorf("it ends with %q", how)
	}

	p = start(t, host)
	if err := p.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if how := p.end(); how != "exit status 137" {
		t.Errorf("it ends with %q", how)
	}
	if entries, err := os.ReadDir(h.folder.path); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v are left in the folder", entries, err)
	}

	var said strings.Builder
	none, err := host.Start(t.Context(), []string{"/no/such/program"}, nil, &said)
	if err == nil { // it ends a moment later
		_, _ = io.Copy(io.Discard, none.Stdout)
		_ = none.Stdin.Close()
		err = none.Wait()
	}
	if err == nil || !strings.Contains(said.String(), "/no/such/program") {
		t.Errorf("a program that is not there: %v, %q", err, said.String())
	}
}

// TestMishaps applies everything that can happen to a host. It checks that its pipes work while it is disconnected and that its
// connection continues afterwards.
func TestMishaps(t *testing.T) {
	pgtest.NeedImage(t)
	h, _ := open(t)
	host := add(t, h)
	listener, err := h.Listen(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dial := "dial " + listener.Addr().String()
	p := start(t, host)
	p.want(dial, listener.Addr().String()+" <nil>")
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	arrives := func(what string, within time.Duration) bool {
		t.Helper()
		_ = conn.SetReadDeadline(time.Now().Add(within))
		got, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil && got != what+"\n" {
			t.Fatalf("%q, %v arrives, want %q", got, err, what)
		}
		return err == nil
	}
	do := func(what string, f func(context.Context) error) {
		t.Helper()
		if err := f(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	p.want("send 1", "1 <nil>")
	if !arrives("1", patience) {
		t.Error("nothing arrives")
	}
	do("disconnect", host.Disconnect)
	p.want("send 2", "2 <nil>")
	if arrives("2", quiet) {
		t.Error("it is not off its network")
	}
	do("connect", host.Connect)
	if !arrives("2", patience) {
		t.Error("the connection does not continue")
	}
	do("pause", host.Pause)
	p.tell("send 3")
	if arrives("3", quiet) {
		t.Error("it does not stand still")
	}
	do("unpause", host.Unpause)
	if got := p.hear(); got != "3 <nil>" || !arrives("3", patience) {
		t.Errorf("it says %q when it continues", got)
	}
	do("restart", host.Restart)
	if how := p.end(); how == "" {
		t.Error("a process of a killed host ended well")
	}
	again := start(t, host)
	again.want(dial, listener.Addr().String()+" <nil>")
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if was, is := addressOf(conn), addressOf(other); was != is {
		t.Errorf("its address is %s, was %s", is, was)
	}
	_ = again.Signal(syscall.SIGKILL)
	again.end()
}

func addressOf(c net.Conn) string { return c.RemoteAddr().(*net.TCPAddr).IP.String() }

// TestLeftovers kills a run with a paused host. It checks that the next Open removes what it left, and nothing of a living run.
func TestLeftovers(t *testing.T) {
	pgtest.NeedImage(t)
	living, _ := open(t)
	host := add(t, living)

	run := exec.CommandContext(t.Context(), os.Args[0])
	run.Env = append(os.Environ(), roleVariable+"=run")
	if _, err := run.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	said, _ := bufio.NewReader(out).ReadString('\n')
	path := strings.TrimSpace(said)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the run says %q", said)
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait()
	if left := leftBy(t, living, path); len(left) < 2 {
		t.Errorf("the killed run left %v, want a paused container and a network", left)
	}

	next, logged := open(t)
	if !strings.Contains(logged(), "removed the container") || !strings.Contains(logged(), "removed the network") {
		t.Errorf("the next run says %q", logged())
	}
	if left := leftBy(t, next, path); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
	p := start(t, host)
	p.want("say still here", "still here <nil>")
	p.want("exit", "EOF")
	p.end()
}

// leftBy lists the containers and networks of a run, except a container that is about to end by itself.
func leftBy(t *testing.T, h *Hosts, path string) []string {
	t.Helper()
	filter := make(client.Filters).Add("label", label+"="+path)
	containers, err := h.docker.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	networks, err := h.docker.NetworkList(t.Context(), client.NetworkListOptions{Filters: filter})
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, c := range containers.Items {
		left = append(left, "container "+c.Status)
	}
	for _, n := range networks.Items {
		left = append(left, "network "+n.Name)
	}
	return slices.Sorted(slices.Values(left))
}
