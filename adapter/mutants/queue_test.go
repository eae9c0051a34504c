package mutants

import (
	"crypto/md5"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pulley/adapter/protocol"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// shapes are workloads of each shape that the adapter has.
func shapes() []protocol.Workload {
	fan := protocol.Workload{Name: "fan", Tasks: []protocol.Task{{Name: "begin", Add: 1}}, Result: "end"}
	end := protocol.Task{Name: "end", Bytes: 100}
	chain := protocol.Workload{Name: "chain", Result: "t20"}
	for i := range 20 {
		t := protocol.Task{Name: fmt.Sprintf("t%d", i+1), Add: int64(i)}
		if i > 0 {
			t.Needs = []string{fmt.Sprintf("t%d", i)}
		}
		chain.Tasks = append(chain.Tasks, t)
		part := protocol.Task{Name: fmt.Sprintf("part%d", i), Needs: []string{"begin"}, Add: 1_000_000_000}
		fan.Tasks, end.Needs = append(fan.Tasks, part), append(end.Needs, part.Name)
	}
	fan.Tasks = append(fan.Tasks, end)
	return []protocol.Workload{
		{Name: "pair", Tasks: []protocol.Task{{Name: "a", Add: 7}, {Name: "b", Needs: []string{"a"}, MS: 1.5, Add: 5}}, Result: "b"},
		{Name: "diamond", Tasks: []protocol.Task{
			{Name: "a", Add: 1}, {Name: "b", Needs: []string{"a"}, Add: 2}, {Name: "c", Needs: []string{"a"}, Add: 3},
			{Name: "d", Needs: []string{"b", "c"}, Add: 4},
		}, Result: "d"},
		{Name: "retries", Tasks: []protocol.Task{{Name: "a", Fails: 2, Add: 1}, {Name: "b", Needs: []string{"a"}, Fails: 1}}, Result: "b"},
		{Name: "early", Tasks: []protocol.Task{{Name: "a", Add: 9}, {Name: "late", Needs: []string{"a"}}}, Result: "a"},
		fan, chain,
	}
}

func instancesOf(workloads []protocol.Workload, prefix string) (list []protocol.Instance) {
	for _, w := range workloads {
		list = append(list, protocol.Instance{ID: prefix + w.Name, Workload: w.Name})
	}
	return list
}

func ids(instances []protocol.Instance) (list []string) {
	for _, i := range instances {
		list = append(list, i.ID)
	}
	return list
}

// TestShapes runs an instance of each shape in one process and then in two, and submits them again.
func TestShapes(t *testing.T) {
	t.Parallel()
	r := newRun(t, "2000", shapes()...)
	r.start(true, 0).stop()
	a := r.start(false, 4)
	first, second := instancesOf(r.workloads, "1-"), instancesOf(r.workloads, "2-")
	a.submit(first...)
	a.ends(first...)

	b := r.start(false, 4)
	b.submit(append(first, second...)...) // first again
	a.submit(append(first, second...)...) // and again, to another process
	known := a.look(append(ids(first), "3")...)
	if last := known[len(known)-1]; last.Status != protocol.Unknown || last.ID != "3" {
		t.Errorf("an instance that was never submitted is %v", last)
	}
	awaitCompleted(a, second)
	all := append(first, second...)
	states := b.look(ids(all)...)
	a.stop()
	b.stop()
	r.check(states, all)
	for _, i := range all {
		w := r.workloads[0]
		for _, w = range r.workloads {
			if w.Name == i.Workload {
				break
			}
		}
		for _, task := range w.Tasks {
			if n := r.count(protocol.KindFinished, i.ID, task.Name); n != 1 {
				t.Errorf("%s: task %s finished %d times", i.ID, task.Name, n)
			}
			if n := r.count(protocol.KindFailed, i.ID, task.Name); n != task.Fails {
				t.Errorf("%s: task %s failed %d times, want %d", i.ID, task.Name, n, task.Fails)
			}
		}
		if n := r.count(protocol.KindEnded, i.ID, ""); n != 1 {
			t.Errorf("%s ended %d times", i.ID, n)
		}
	}
	if n := r.count(protocol.KindProblem, "", ""); n > 0 {
		t.Errorf("%d problems", n)
	}
}

// awaitCompleted looks until instances are completed, for ends that another process may have reported.
func awaitCompleted(p *process, instances []protocol.Instance) {
	p.run.t.Helper()
	for until := time.Now().Add(within); ; {
		open := false
		for _, s := range p.look(ids(instances)...) {
			open = open || s.Status == protocol.Open
		}
		if !open {
			return
		}
		if time.Now().After(until) {
			p.run.t.Fatalf("an instance is open after %v", within)
		}
		p.poll("another end", 50*time.Millisecond, isKind(protocol.KindEnded))
	}
}

// slow is a workload whose first task works for a time.
func slow() protocol.Workload {
	return protocol.Workload{Name: "slow", Tasks: []protocol.Task{{Name: "a", MS: 500, Add: 1}, {Name: "b", Needs: []string{"a"}}}, Result: "b"}
}

// TestKill kills a process at work: another does its work after the lease. What works longer than its lease keeps it.
func TestKill(t *testing.T) {
	t.Parallel()
	r := newRun(t, "1000", slow())
	r.workloads[0].Tasks[0].MS = 1300
	a := r.start(true, 2)
	instances := []protocol.Instance{{ID: "1", Workload: "slow"}, {ID: "2", Workload: "slow"}, {ID: "3", Workload: "slow"}}
	a.submit(instances...)
	a.await("started", isKind(protocol.KindStarted))
	a.await("started", isKind(protocol.KindStarted))
	a.kill()
	b := r.start(false, 4)
	awaitCompleted(b, instances)
	states := b.look(ids(instances)...)
	b.stop()
	r.check(states, instances)
	for _, i := range instances {
		if n := r.count(protocol.KindFinished, i.ID, "a"); n != 1 {
			t.Errorf("%s: %d executions finished, want one", i.ID, n)
		}
	}
}

// TestPause pauses a process in the midst of its work until another has done it: both report that they finished, and the instance
// ends once. On a busy machine the pause may come after the work; then it is tried again.
func TestPause(t *testing.T) {
	t.Parallel()
	r := newRun(t, "300", slow())
	var all []protocol.Instance
	for n := 1; ; n++ {
		a, one := r.start(n == 1, 1), protocol.Instance{ID: strconv.Itoa(n), Workload: "slow"}
		all = append(all, one)
		a.submit(one)
		a.await("started", isKind(protocol.KindStarted))
		if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		b := r.start(false, 1)
		awaitCompleted(b, []protocol.Instance{one})
		if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		a.await("finished", isKind(protocol.KindFinished))
		a.stop()
		states := b.look(ids(all)...)
		b.stop()
		finished := r.count(protocol.KindFinished, one.ID, "a")
		if finished == 1 && n < pauses {
			continue
		}
		r.check(states, all)
		if finished < 2 {
			t.Errorf("%d executions finished, want both", finished)
		}
		return
	}
}

// pauses is how often a pause is tried that is to come before half a second has passed.
const pauses = 10

// TestCuts cuts connections before and after messages in both directions: everything ends once, and no process ends.
func TestCuts(t *testing.T) {
	t.Parallel()
	r := newRun(t, "200", shapes()...)
	r.start(true, 0).stop()
	a := r.start(false, 3)
	var all []protocol.Instance
	for k := range depth.Of(5, 100) {
		for mode, cut := range pgtest.OnceEach() {
			r.proxy.Set(cut.At(1 + 3*k))
			some := instancesOf(r.workloads, fmt.Sprintf("%d-%d-", k, mode))
			a.poll("the cut connection's problem", 10*time.Millisecond, isKind(protocol.KindProblem))
			if cut.At(1 + 3*k).Dead {
				r.proxy.Unset()
			}
			a.submit(some...)
			awaitCompleted(a, some)
			r.proxy.Unset()
			all = append(all, some...)
		}
	}
	a.stop()
	b := r.start(false, 0)
	b.send(protocol.Request{Kind: protocol.KindOpen, Slots: 1, Report: protocol.ReportEnds})
	b.await("ready", isKind(protocol.KindReady))
	r.check(b.look(ids(all)...), all)
	b.stop()
	if r.count(protocol.KindProblem, "", "") == 0 {
		t.Error("no problem was reported, so no connection was cut")
	}
}

// TestMistakes checks what the adapter says of a version that it does not speak, of a store that it cannot reach, and of a
// workload that is not there.
func TestMistakes(t *testing.T) {
	t.Parallel()
	r := newRun(t, "2000", shapes()...)
	for _, line := range []string{
		`{"pulley":"hello","version":2}`,
		`{"pulley":"setup","create":true,"store":{"dsn":"postgres://nobody@127.0.0.1:1/none"},"settings":null,"workloads":[]}`,
		`{"pulley":"setup","store":{"dsn":"` + r.dsn + `"},"settings":{"lease_ms":"long"}}`,
	} {
		cmd := exec.CommandContext(t.Context(), "python3", filepath.Join(root, Reference))
		cmd.Stdin = strings.NewReader(line + "\n")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 2 || len(out) == 0 || strings.Contains(string(out), "Traceback") {
			t.Errorf("%s: exit status %d\n%s", line, cmd.ProcessState.ExitCode(), out)
		}
	}
	p := r.start(true, 1)
	p.send(protocol.Request{Kind: protocol.KindSubmit, Batch: 9, Instances: []protocol.Instance{{ID: "1", Workload: "pair"}, {ID: "2", Workload: "none"}}})
	p.send(protocol.Request{Kind: protocol.KindLook, Batch: 10, IDs: []string{"1", "2"}})
	refused := false
	for m := range p.messages {
		refused = refused || m.Kind == protocol.KindError && m.Batch == 9
		if m.Kind == protocol.KindStates {
			if !refused || m.States[0].Status != protocol.Unknown || m.States[1].Status != protocol.Unknown {
				t.Errorf("after a batch with an unknown workload (refused: %t): %v", refused, m.States)
			}
			break
		}
	}
	p.stop()
}

// TestAuthentication holds the client against the example of RFC 7677, and md5 against its definition.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	depth.Needs(t, "python3")
	inner := fmt.Sprintf("%x", md5.Sum([]byte("penciluser")))
	program := `
import runpy, sys
sent, adapter = [], runpy.run_path(sys.argv[1])
db = adapter["Postgres"]("postgres://user:pencil@127.0.0.1/db")
db.send = lambda *messages: sent.extend(messages)
db.authenticate(5, b"salt")
assert sent == [(b"p", sys.argv[2].encode() + b"\0")], sent
db.first = b"n=user,r=rOprNGfwEbeRWgbNEkqO"
nonce = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
db.authenticate(11, nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
assert sent[1:] == [(b"p", b"c=biws," + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")], sent
db.authenticate(12, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
for code, data in (12, b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4"), (10, b"SCRAM-SHA-512\0\0"), (3, b""):
    try:
        db.authenticate(code, data)
    except ConnectionError:
        continue
    sys.exit(f"{code} was taken")
`
	cmd := exec.CommandContext(t.Context(), "python3", "-c", program, filepath.Join(root, Reference), fmt.Sprintf("md5%x", md5.Sum([]byte(inner+"salt"))))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
