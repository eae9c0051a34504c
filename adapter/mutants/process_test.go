package mutants

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/adapter/protocol"
	worker "pulley/engine/worker/protocol"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// within bounds each wait: what has not happened by then will not.
const within = 5 * time.Minute

func TestMain(m *testing.M) { pgtest.Main(m) }

// run is one of the adapter: a store, and the processes on it.
type run struct {
	t         *testing.T
	proxy     *pgtest.Proxy
	dsn       string // the proxy's, as a URL
	file      string // of the adapter
	settings  map[string]string
	workloads []protocol.Workload
	batch     int64

	mu      sync.Mutex
	history []protocol.Response // of all processes
}

// newRun makes an empty database, which is dropped when the test ends, and a proxy to it.
func newRun(t *testing.T, leaseMS string, workloads ...protocol.Workload) *run {
	t.Helper()
	depth.Needs(t, "python3")
	server, name := pgtest.Server(t).DSN(), pgtest.Schema(t)
	command := func(sql string) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), within)
		defer cancel()
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close(ctx) }()
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	command("CREATE DATABASE " + name)
	t.Cleanup(func() { command("DROP DATABASE " + name + " WITH (FORCE)") })
	config, err := pgx.ParseConfig(server)
	if err != nil {
		t.Fatal(err)
	}
	config.Database = name
	r := &run{t: t, file: filepath.Join(root, Reference), settings: map[string]string{"lease_ms": leaseMS}, workloads: workloads}
	r.proxy = pgtest.StartProxy(t, keywords(config))
	if config, err = pgx.ParseConfig(r.proxy.DSN()); err != nil {
		t.Fatal(err)
	}
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Path: "/" + config.Database,
		Host: net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))),
	}
	r.dsn = address.String()
	return r
}

// keywords writes a connection string.
func keywords(c *pgx.ConnConfig) string {
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	return fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname='%s' sslmode=disable",
		quote.Replace(c.Host), c.Port, quote.Replace(c.User), quote.Replace(c.Password), quote.Replace(c.Database))
}

// process is one of the adapter.
type process struct {
	run      *run
	cmd      *exec.Cmd
	in       io.WriteCloser
	messages chan protocol.Response // closed when standard output ends
	early    []protocol.Response    // came before the answer to the last submission
}

// start starts a process, which is killed when the test ends. One creates the tables; slots: none, so that it does not work.
func (r *run) start(create bool, slots int) *process {
	r.t.Helper()
	p := &process{run: r, cmd: exec.Command("python3", r.file), messages: make(chan protocol.Response, 1000)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // if it still runs
		for range p.messages {   // so that the reader ends
		}
		_ = p.cmd.Wait()
	})
	go p.read(out)
	p.send(protocol.Request{Kind: protocol.KindHello, Version: protocol.Version})
	hello := p.await("hello", func(m protocol.Response) bool { return m.Hello != nil }).Hello
	for _, w := range r.workloads {
		if missing := w.Missing(hello.Shapes); len(missing) > 0 {
			r.t.Fatalf("%s: the adapter lacks %v", w.String(), missing)
		}
	}
	p.send(protocol.Request{Kind: protocol.KindSetup, Create: create, Store: &protocol.Store{DSN: r.dsn}, Settings: r.settings, Workloads: r.workloads})
	ready := p.await("ready", isKind(protocol.KindReady))
	if before, now := hello.Promises, ready.Promises; now == nil || (*now == before) != (r.settings["lease_ms"] == hello.Settings[0].Default) {
		r.t.Errorf("with the settings %v it promises %v, by default %v", r.settings, now, before)
	}
	if slots > 0 {
		p.open(slots)
	}
	return p
}

func (p *process) open(slots int) {
	p.run.t.Helper()
	p.send(protocol.Request{Kind: protocol.KindOpen, Process: 1, Slots: slots, Report: protocol.ReportTasks})
	p.await("ready", isKind(protocol.KindReady))
}

func (p *process) read(out io.Reader) {
	defer close(p.messages)
	lines := worker.NewLineReader(out, protocol.LineBytes)
	for {
		line, tooLong, err := lines.ReadLine()
		if err != nil {
			return // a part of a line did not happen: it was killed
		}
		m, err := protocol.ParseResponse(line)
		if tooLong || err != nil {
			p.run.t.Errorf("it wrote %.200q: %v", line, err)
			continue
		}
		p.run.mu.Lock()
		p.run.history = append(p.run.history, m)
		p.run.mu.Unlock()
		p.messages <- m
	}
}

func (p *process) send(m protocol.Request) {
	p.run.t.Helper()
	line, err := m.Line()
	if err != nil {
		p.run.t.Fatal(err)
	}
	if _, err := p.in.Write(line); err != nil {
		p.run.t.Fatal(err)
	}
}

func isKind(kind protocol.Kind) func(protocol.Response) bool {
	return func(m protocol.Response) bool { return m.Kind == kind }
}

// await returns the next message that is wanted, and ignores those before it.
func (p *process) await(what string, wanted func(protocol.Response) bool) protocol.Response {
	p.run.t.Helper()
	m, ok := p.poll(what, within, wanted)
	if !ok {
		p.run.t.Fatalf("no %s in %v", what, within)
	}
	return m
}

// poll is await that gives up.
func (p *process) poll(what string, patience time.Duration, wanted func(protocol.Response) bool) (m protocol.Response, ok bool) {
	p.run.t.Helper()
	ctx, cancel := depth.Within(p.run.t.Context(), p.run.t, patience)
	defer cancel()
	for {
		var open bool
		if len(p.early) > 0 {
			m, open, p.early = p.early[0], true, p.early[1:]
		} else {
			select {
			case m, open = <-p.messages:
			case <-ctx.Done():
				return m, false
			}
		}
		if !open {
			p.run.t.Fatalf("the process ended before %s", what)
		}
		if m.Kind == protocol.KindError {
			p.run.t.Fatalf("an error before %s: %s", what, m.Message)
		}
		if wanted(m) {
			return m, true
		}
	}
}

func (p *process) submit(instances ...protocol.Instance) {
	p.run.t.Helper()
	p.run.batch++
	p.send(protocol.Request{Kind: protocol.KindSubmit, Batch: p.run.batch, Instances: instances})
	var early []protocol.Response // a task may start before its submission is answered
	p.await("submitted", func(m protocol.Response) bool {
		early = append(early, m)
		return m.Kind == protocol.KindSubmitted && m.Batch == p.run.batch
	})
	p.early = early[:len(early)-1]
}

func (p *process) look(ids ...string) []protocol.State {
	p.run.t.Helper()
	p.run.batch++
	p.send(protocol.Request{Kind: protocol.KindLook, Batch: p.run.batch, IDs: ids})
	return p.await("states", func(m protocol.Response) bool { return m.Kind == protocol.KindStates && m.Batch == p.run.batch }).States
}

// ends awaits the ends of instances in any order.
func (p *process) ends(instances ...protocol.Instance) {
	p.run.t.Helper()
	missing := map[string]bool{}
	for _, i := range instances {
		missing[i.ID] = true
	}
	p.await("the last end", func(m protocol.Response) bool {
		if m.Kind == protocol.KindEnded {
			delete(missing, m.Instance)
		}
		return len(missing) == 0
	})
}

// stop stops a process, and wants status 0.
func (p *process) stop() {
	p.run.t.Helper()
	p.send(protocol.Request{Kind: protocol.KindStop})
	p.drain()
	if err := p.cmd.Wait(); err != nil {
		p.run.t.Errorf("after stop: %v", err)
	}
}

// kill kills a process as the kernel does.
func (p *process) kill() {
	p.run.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		p.run.t.Fatal(err)
	}
	p.drain()
	_ = p.cmd.Wait() // it was killed
}

// drain reads until standard output ends.
func (p *process) drain() {
	p.run.t.Helper()
	ctx, cancel := depth.Within(p.run.t.Context(), p.run.t, within)
	defer cancel()
	for {
		select {
		case _, open := <-p.messages:
			if !open {
				return
			}
		case <-ctx.Done():
			p.run.t.Fatalf("it runs %v after its end was asked for", within)
		}
	}
}

// count returns how often a message is in the history.
func (r *run) count(kind protocol.Kind, instance, task string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.history {
		if m.Kind == kind && m.Instance == instance && (task == "" || m.Task == task) {
			n++
		}
	}
	return n
}

// check holds the history against what is always promised, and the ends against what the store says. Processes have ended, or
// are idle.
func (r *run) check(states []protocol.State, instances []protocol.Instance) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	type key struct{ instance, task string }
	workloads, given, counted := map[string]*protocol.Workload{}, map[key]map[string]bool{}, map[key]string{}
	for _, i := range instances {
		at := slices.IndexFunc(r.workloads, func(w protocol.Workload) bool { return w.Name == i.Workload })
		workloads[i.ID] = &r.workloads[at]
	}
	for _, m := range r.history {
		if m.Kind == protocol.KindFinished {
			k := key{m.Instance, m.Task}
			if given[k] == nil {
				given[k] = map[string]bool{}
			}
			given[k][m.Value] = true
		}
	}
	counts := func(instance, task, value string) {
		k := key{instance, task}
		if before, known := counted[k]; known && before != value {
			r.t.Errorf("%s: task %s has the values %s and %s", instance, task, before, value)
		}
		if !given[k][value] {
			r.t.Errorf("%s: no execution of task %s gave %s", instance, task, value)
		}
		counted[k] = value
	}
	for _, m := range r.history {
		switch m.Kind {
		case protocol.KindStarted:
			if needs := workloads[m.Instance].Task(m.Task).Needs; len(m.Inputs) != len(needs) {
				r.t.Errorf("%s: task %s has the inputs %v", m.Instance, m.Task, m.Inputs)
			}
			for task, value := range m.Inputs {
				counts(m.Instance, task, value)
			}
		case protocol.KindEnded:
			counts(m.Instance, workloads[m.Instance].Result, m.Value)
		}
	}
	if len(states) != len(instances) {
		r.t.Errorf("it looked for %d instances, and found %v", len(instances), states)
	}
	for _, s := range states {
		counts(s.ID, workloads[s.ID].Result, s.Value)
		if v, err := protocol.ParseValue(s.Value); err != nil || s.Status != protocol.Completed || v.Sum != workloads[s.ID].Sum() {
			r.t.Errorf("%s: %v, want %d: %v", workloads[s.ID].String(), s, workloads[s.ID].Sum(), err)
		}
		for _, task := range workloads[s.ID].Tasks {
			if len(given[key{s.ID, task.Name}]) == 0 {
				r.t.Errorf("%s: completed, but task %s never finished", s.ID, task.Name)
			}
		}
	}
}
