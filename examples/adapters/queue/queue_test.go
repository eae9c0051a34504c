package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/adapter"
	"pulley/adapter/protocol"
	"pulley/internal/pgtest"
)

// within bounds each wait.
const within = 5 * time.Minute

// process is an adapter in this process, and pulley's side of it.
type process struct {
	t       *testing.T
	in      *io.PipeWriter
	answers chan protocol.Response
	kill    context.CancelCauseFunc
	done    chan error
	ended   map[string]protocol.Response
	started []protocol.Response
}

var errKilled = errors.New("killed")

func start(t *testing.T, number int, create bool, setup protocol.Request) *process {
	t.Helper()
	in, requests := io.Pipe()
	responses, out := io.Pipe()
	ctx, kill := context.WithCancelCause(t.Context())
	p := &process{t: t, in: requests, answers: make(chan protocol.Response), kill: kill, done: make(chan error, 1), ended: map[string]protocol.Response{}}
	go func() {
		p.done <- adapter.Serve(ctx, in, out, &queue{})
		_ = in.Close()
		_ = out.Close()
	}()
	go p.read(responses)
	t.Cleanup(func() { kill(errKilled) })
	setup.Kind, setup.Create = protocol.KindSetup, create
	p.write(protocol.Request{Kind: protocol.KindHello, Version: 1})
	p.await(protocol.KindHello)
	p.write(setup)
	p.await(protocol.KindReady)
	p.write(protocol.Request{Kind: protocol.KindOpen, Process: number, Slots: 4, Report: protocol.ReportTasks})
	p.await(protocol.KindReady)
	return p
}

func (p *process) read(responses io.Reader) {
	defer close(p.answers)
	for in := bufio.NewScanner(responses); in.Scan(); {
		m, err := protocol.ParseResponse(in.Bytes())
		if err != nil {
			p.t.Errorf("%s: %v", in.Bytes(), err)
		}
		p.answers <- m
	}
}

func (p *process) write(r protocol.Request) {
	p.t.Helper()
	line, err := r.Line()
	if err == nil {
		_, err = p.in.Write(line)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// await returns the next message of a kind, and notes reports before it.
func (p *process) await(kind protocol.Kind) protocol.Response {
	p.t.Helper()
	late := time.After(within)
	for {
		select {
		case m, ok := <-p.answers:
			switch {
			case !ok:
				p.t.Fatalf("the adapter ended before %s: %v", kind, <-p.done)
			case m.Kind == protocol.KindProblem || m.Kind == protocol.KindError:
				p.t.Errorf("%s: %s", m.Kind, m.Message)
			case m.Kind == protocol.KindEnded:
				p.ended[m.Instance] = m
			case m.Kind == protocol.KindStarted:
				p.started = append(p.started, m)
			}
			if m.Kind == kind {
				return m
			}
		case <-late:
			p.t.Fatalf("no %s", kind)
		}
	}
}

// submit submits instances and waits for their ends.
func (p *process) run(instances ...protocol.Instance) {
	p.t.Helper()
	p.write(protocol.Request{Kind: protocol.KindSubmit, Batch: 7, Instances: instances})
	if m := p.await(protocol.KindSubmitted); m.Batch != 7 {
		p.t.Errorf("the answer has batch %d", m.Batch)
	}
	for _, i := range instances {
		for p.ended[i.ID].Kind == "" {
			p.await(protocol.KindEnded)
		}
	}
}

// stop ends the process as pulley does.
func (p *process) stop() {
	p.t.Helper()
	p.write(protocol.Request{Kind: protocol.KindStop})
	for range p.answers {
	}
	if err := <-p.done; err != nil {
		p.t.Error(err)
	}
}

// database returns the DSN of a schema of the test's own, as if it were a database.
func database(t *testing.T) string {
	t.Helper()
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	command := func(sql string) {
		db, err := connect(context.Background(), dsn, 1)
		if err == nil {
			defer db.Close()
			err = db.exec(context.Background(), sql)
		}
		if err != nil {
			t.Error(err)
		}
	}
	command("CREATE SCHEMA " + schema)
	t.Cleanup(func() { command("DROP SCHEMA " + schema + " CASCADE") })
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=%s sslmode=disable search_path=%s", config.Host, config.Port, config.User, config.Password, config.Database, schema)
}

func setup(t *testing.T, leaseMS int) protocol.Request {
	t.Helper()
	chain, fan := protocol.Workload{Name: "chain", Result: "t9"}, protocol.Workload{Name: "fan", Result: "join"}
	for n := range 10 {
		task := protocol.Task{Name: fmt.Sprintf("t%d", n), Add: int64(n)}
		if n > 0 {
			task.Needs = []string{fmt.Sprintf("t%d", n-1)}
		}
		chain.Tasks = append(chain.Tasks, task)
	}
	join := protocol.Task{Name: "join", Add: 100}
	for n := range 20 {
		name := fmt.Sprintf("f%d", n)
		fan.Tasks = append(fan.Tasks, protocol.Task{Name: name, Add: int64(n)})
		join.Needs = append(join.Needs, name)
	}
	fan.Tasks = append(fan.Tasks, join)
	return protocol.Request{
		Store: &protocol.Store{DSN: database(t)}, Settings: map[string]string{"lease_ms": strconv.Itoa(leaseMS)},
		Workloads: []protocol.Workload{
			chain, fan,
			{Name: "pair", Tasks: []protocol.Task{{Name: "a", Add: 7}, {Name: "b", Needs: []string{"a"}, Add: 5, Bytes: 3000}}, Result: "b"},
			{Name: "diamond", Tasks: []protocol.Task{{Name: "a", Add: 1}, {Name: "b", Needs: []string{"a"}}, {Name: "c", Needs: []string{"a"}}, {Name: "d", Needs: []string{"b", "c"}}}, Result: "d"},
			{Name: "retries", Tasks: []protocol.Task{{Name: "a", Fails: 2, Add: 3}, {Name: "b", Needs: []string{"a"}, Fails: 1}}, Result: "b"},
			{Name: "early", Tasks: []protocol.Task{{Name: "a", Add: 3}, {Name: "b", Needs: []string{"a"}}}, Result: "a"},
			{Name: "long", Tasks: []protocol.Task{{Name: "a", Add: 3, MS: 900}}, Result: "a"},
			{Name: "endless", Tasks: []protocol.Task{{Name: "a", Add: 3, MS: 3_600_000}}, Result: "a"},
		},
	}
}

// TestShapes runs every shape, some instances at once, on two processes.
func TestShapes(t *testing.T) {
	t.Parallel()
	s := setup(t, 2000)
	p := start(t, 0, true, s)
	var instances []protocol.Instance
	var ids []string
	for _, w := range s.Workloads {
		for n := range 3 {
			if w.Name == "endless" {
				continue
			}
			instances = append(instances, protocol.Instance{ID: fmt.Sprintf("%s-%d", w.Name, n), Workload: w.Name})
			ids = append(ids, instances[len(instances)-1].ID)
		}
	}
	p.run(append(instances, instances[0])...) // twice in one batch
	started := len(p.started)
	for _, i := range instances {
		w := s.Workloads[slices.IndexFunc(s.Workloads, func(w protocol.Workload) bool { return w.Name == i.Workload })]
		value, err := protocol.ParseValue(p.ended[i.ID].Value)
		if err != nil || value.Sum != w.Sum() || value.Token == "" || i.Workload == "pair" && len(p.ended[i.ID].Value) != 3000 {
			t.Errorf("%s ended with %+v (%v), want the sum %d", i.ID, p.ended[i.ID], err, w.Sum())
		}
	}
	attempts := map[string]int{}
	for _, m := range p.started {
		attempts[m.Instance+"/"+m.Task] = max(attempts[m.Instance+"/"+m.Task], m.Attempt)
	}
	for key, most := range attempts {
		if want := map[string]int{"retries-0/a": 3, "retries-1/a": 3, "retries-2/a": 3, "retries-0/b": 2, "retries-1/b": 2, "retries-2/b": 2}[key]; most != max(1, want) {
			t.Errorf("%s had %d attempts, want %d", key, most, max(1, want))
		}
	}

	p.write(protocol.Request{Kind: protocol.KindSubmit, Batch: 8, Instances: instances}) // again: nothing of it is new
	p.await(protocol.KindSubmitted)
	other := start(t, 1, false, s)
	other.write(protocol.Request{Kind: protocol.KindLook, Batch: 9, IDs: append(ids, "never")})
	states := other.await(protocol.KindStates).States
	for n, id := range ids {
		if got, want := states[n], (protocol.State{ID: id, Status: protocol.Completed, Value: p.ended[id].Value}); got != want {
			t.Errorf("the store has %+v, want %+v", got, want)
		}
	}
	if got := states[len(ids)]; got.Status != protocol.Unknown {
		t.Errorf("an id that was never submitted is %s", got.Status)
	}
	p.stop()
	other.stop()
	if len(p.started) != started || len(other.started) > 0 {
		t.Error("instances that were submitted again were executed again")
	}
}

// TestTakeOver ends a process abruptly while it has jobs: others execute its jobs when their leases end, each as the next attempt.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	// On a busy machine a short lease may end before its process does anything with it: then the job has more attempts.
	for lease := 300; ; lease *= 4 {
		attempts := takeOver(t, lease)
		if maps.Equal(attempts, map[string]int{"x": 2, "y": 2}) {
			break
		}
		if lease > 5000 {
			t.Fatalf("the last attempts of the jobs are %v, want 2 of each", attempts)
		}
	}
}

// takeOver returns the highest attempt of each job at the process that takes over.
func takeOver(t *testing.T, lease int) map[string]int {
	t.Helper()
	s := setup(t, lease)
	first := start(t, 0, true, s)
	for n := range s.Workloads {
		if w := &s.Workloads[n]; w.Name == "endless" {
			w.Tasks = []protocol.Task{{Name: "a", Add: 3}} // for the process that follows
		}
	}
	first.write(protocol.Request{Kind: protocol.KindSubmit, Batch: 1, Instances: []protocol.Instance{{ID: "x", Workload: "endless"}, {ID: "y", Workload: "endless"}}})
	for len(first.started) < 2 {
		first.await(protocol.KindStarted)
	}
	first.kill(errKilled)
	for range first.answers {
	}
	if err := <-first.done; !errors.Is(err, errKilled) {
		t.Error(err)
	}
	second := start(t, 0, false, s)
	for len(second.ended) < 2 {
		second.await(protocol.KindEnded)
	}
	if got := slices.Sorted(maps.Keys(second.ended)); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("%v ended", got)
	}
	second.stop()
	attempts := map[string]int{}
	for _, m := range second.started {
		attempts[m.Instance] = max(attempts[m.Instance], m.Attempt)
	}
	return attempts
}

// TestStaleResult shows that a lease is renewed, and that a result does not count once another attempt has begun.
func TestStaleResult(t *testing.T) {
	t.Parallel()
	s := setup(t, 100)
	// On a busy machine a renewal may come too late for a short lease.
	for lease := 100; ; lease *= 4 {
		s = setup(t, lease)
		for n := range s.Workloads {
			if w := &s.Workloads[n]; w.Name == "long" {
				w.Tasks = []protocol.Task{{Name: "a", MS: float64(3 * lease)}}
			}
		}
		p := start(t, 0, true, s)
		p.run(protocol.Instance{ID: "renewed", Workload: "long"})
		executed := len(p.started)
		p.stop()
		if executed == 1 {
			break
		}
		if lease > 5000 {
			t.Fatalf("a job of three leases was executed %d times", executed)
		}
	}

	db, err := connect(t.Context(), s.Store.DSN, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	workloads := map[string]*protocol.Workload{"long": {Name: "long", Tasks: []protocol.Task{{Name: "a"}}, Result: "a"}}
	if err := db.submit(t.Context(), []protocol.Instance{{ID: "x", Workload: "long"}}, workloads); err != nil {
		t.Fatal(err)
	}
	stale, err := db.take(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	current, err := db.take(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if none, err := db.take(t.Context(), time.Minute); none != nil || err != nil {
		t.Errorf("a leased job was leased again: %+v, %v", none, err)
	}
	for _, step := range []struct {
		j     *job
		value string
		want  string
	}{{stale, "1:stale", "none"}, {current, "1:current", "1:current"}, {current, "1:again", "1:current"}} {
		end, err := db.complete(t.Context(), *step.j, step.value, true)
		got := "none"
		if end != nil {
			got = *end
		}
		if err != nil || got != step.want {
			t.Errorf("after %s the end is %s (%v), want %s", step.value, got, err, step.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]protocol.Request{
		`lease_ms is "soon"`: {Settings: map[string]string{"lease_ms": "soon"}},
		`lease_ms is "99"`:   {Settings: map[string]string{"lease_ms": "99"}},
		"connect":            {Create: true, Store: &protocol.Store{DSN: "postgres://pulley@127.0.0.1:1/nowhere?sslmode=disable"}},
	} {
		s.Kind = protocol.KindSetup
		line, err := s.Line()
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		err = adapter.Serve(t.Context(), strings.NewReader(`{"pulley":"hello","version":1}`+"\n"+string(line)), &out, &queue{})
		if !errors.Is(err, adapter.ErrUnusable) || !strings.Contains(err.Error(), name) || !strings.Contains(out.String(), `{"pulley":"error","message":"`) {
			t.Errorf("%s: %v, and wrote %s", name, err, out.String())
		}
	}
}
