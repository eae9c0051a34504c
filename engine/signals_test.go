package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/signal"
	"pulley/engine/worker"
	"pulley/internal/depth"
	"pulley/internal/pause"
)

// send sends a signal, which must be new or not.
func (s *site) send(e *engine.Engine, id uuid.UUID, name, value, key string, created bool) {
	s.Helper()
	got, err := e.Signal(s.ctx, id, name, json.RawMessage(value), key)
	if err != nil || got != created {
		s.Fatalf("signal %s of value %s: new %t, %v", name, value, got, err)
	}
}

func (s *site) wantEnd(e *engine.Engine, id uuid.UUID, want string) {
	s.Helper()
	inst, err := e.Wait(s.ctx, id)
	if err != nil || string(inst.Result) != want {
		s.Errorf("it ended with %s, %v, %v; want %s", inst.Result, inst.Failure, err, want)
	}
}

func (s *site) awaitThat(holds func() bool) {
	s.Helper()
	for range pause.Tries(s.ctx, 20*time.Millisecond) {
		if holds() {
			return
		}
	}
	s.Fatal("it does not come to that")
}

// waits waits until an instance has n waits that rest.
func (s *site) waits(store backend.Backend, id uuid.UUID, n int) {
	s.Helper()
	s.awaitThat(func() bool {
		waits, _, err := store.(backend.Signaler).Signals(s.ctx, id, 10)
		if err != nil {
			s.Fatal(err)
		}
		resting := 0
		for _, w := range waits {
			if w.State == backend.Waiting {
				resting++
			}
		}
		return resting == n
	})
}

const signalsSource = `fn main(input: [], output: [all]):
    early = @wait_signal(name="early")
    a, b = parallel:
        @wait_signal(name="pair")
        @wait_signal(name="pair")
    try:
        never = @wait_signal(name="never") [Timeout -> retry: 1] [timeout: 60ms]
    except Timeout as e:
        never = e["message"]
    all = [early, sorted([a, b]), never]
`

// Signals are taken by one wait each, in their order, whether they come before the wait or after it.
func TestSignals(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		store := s.open()
		e := s.host(store, engine.Config{Signals: true, Lease: time.Second}) // what is over is removed a lease later
		other := s.host(s.open(), engine.Config{Signals: true, Lease: time.Second})
		id := s.submitted(e, program(s.T, signalsSource, ir.Limits{}), "{}")
		s.waits(store, id, 1)
		s.send(e, id, "pair", "1", "one", true)
		s.send(other, id, "pair", "3", "one", false) // a repetition
		s.send(other, id, "early", `{"by": "é"}`, "", true)
		s.send(other, id, "pair", "2", "", true)
		s.wantEnd(e, id, `[{"by":"é"},[1,2],"no signal \"never\" came within the timeout of 60ms"]`)
		for _, c := range []struct {
			id   uuid.UUID
			name string
			want error
		}{{id, "late", signal.ErrInstanceEnded}, {uuid.New(), "lost", engine.ErrUnknownInstance}} {
			if _, err := e.Signal(s.ctx, c.id, c.name, nil, ""); !errors.Is(err, c.want) {
				s.Errorf("signal %s: %v, want %v", c.name, err, c.want)
			}
		}
		s.awaitThat(func() bool { // what is left is removed by turns
			waits, sent, err := store.(backend.Signaler).Signals(s.ctx, id, 10)
			return err == nil && len(waits) == 0 && len(sent) == 0
		})
		s.stop(e)
		s.stop(other)
	})
}

// A wait that was cancelled takes no signal from one that continues.
func TestSignalAfterCanceledWait(t *testing.T) {
	onEveryDesign(t, func(s *site) {
		store := s.open()
		hold := make(chan struct{})
		workers := s.with("bad", func(context.Context, worker.Call) (any, error) {
			<-hold
			return nil, &worker.Error{Type: "Bad"}
		})
		e := s.host(store, engine.Config{Signals: true, Workers: workers})
		id := s.submitted(e, program(s.T, `fn main(input: [], output: [got]):
    try:
        got, other = parallel:
            @wait_signal(name="s")
            @bad()
    except Bad:
        got = @wait_signal(name="s")
`, ir.Limits{}), "{}")
		s.waits(store, id, 1)
		close(hold)
		s.waits(store, id, 2)
		s.send(e, id, "s", "7", "", true)
		s.wantEnd(e, id, "7")
		s.stop(e)
	})
}

// Refused are names and values that are none, and more signals than an instance may have.
func TestSignalMistakes(t *testing.T) {
	s := newSite(t, designs.Durable()[0])
	e := s.host(s.open(), engine.Config{Signals: true})
	id := s.submitted(e, program(t, "fn main(input: [n], output: [x]):\n    x = @wait_signal(name=n)\n", ir.Limits{}), `{"n": "`+strings.Repeat("é", 100)+`"}`)
	for want, c := range map[string][2]string{
		"the name of a signal is empty": {"", "1"}, "has 201 bytes": {strings.Repeat("x", 201), "1"}, "printable text": {"a\x1bb", "1"},
		"no JSON": {"x", "yes"}, "has 1048579 bytes": {"x", `"` + strings.Repeat("x", 1<<20+1) + `"`},
	} {
		if _, err := e.Signal(s.ctx, id, c[0], json.RawMessage(c[1]), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q of %.20q: %v; want %s", c[0], c[1], err, want)
		}
	}
	for input, want := range map[string]string{`{"n": 7}`: "takes the name of a signal, a text", `{"n": ""}`: "the name of a signal is empty"} {
		inst := s.ends(e, program(t, "fn main(input: [n], output: [x]):\n    x = @wait_signal(name=n)\n", ir.Limits{}), input)
		if inst.Failure == nil || inst.Failure.Type != worker.TypeArgument || !strings.Contains(inst.Failure.Message, want) {
			t.Errorf("%s: %+v", input, inst.Failure)
		}
	}
	s.exec(`INSERT INTO `+s.schema+`.signals (id, instance_id, name, value, keyed) SELECT gen_random_uuid(), $1, 'other', '1', false FROM generate_series(1, $2)`, id, backend.SignalsMax-1)
	s.send(e, id, "other", "1", "", true)
	if _, err := e.Signal(s.ctx, id, "other", nil, ""); !errors.Is(err, backend.ErrSignalsFull) {
		t.Errorf("more than %d signals: %v", backend.SignalsMax, err)
	}
	s.stop(e)

	store := memory.New(memory.Options{})
	defer store.Close()
	none, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]engine.Config{
		"Signals is set, and backend engine_test.plain has none; use another one":      {Backend: plain{store}, Workers: s.actions(nil)},
		"Signals is set, and Workers do not have @wait_signal; worker.Builtins has it": {Backend: store, Workers: none},
	} {
		cfg.Signals = true
		if _, err := engine.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// An engine without signals leaves a wait to engines that have them, if it leaves what it does not know.
func TestSignalsAreLeftToOthers(t *testing.T) {
	s := newSite(t, designs.Durable()[0])
	problems := make(chan string, 100)
	without := s.host(s.open(), engine.Config{LeaveUnknown: true, Observer: engine.Observer{Problem: func(err error) { problems <- err.Error() }}})
	id := s.submitted(without, program(t, "fn main(input: [], output: [x]):\n    x = @wait_signal(name=\"go\")\n", ir.Limits{}), "{}")
	if said := <-problems; !strings.Contains(said, "action wait_signal") || !strings.Contains(said, "does not have the action") {
		t.Error(said)
	}
	with := s.host(s.open(), engine.Config{Signals: true})
	s.send(with, id, "go", "7", "", true)
	s.wantEnd(with, id, "7")
	s.stop(with)
	s.stop(without)
}

// The child process runs an engine with signals until its input ends.
func TestChildSignals(t *testing.T) {
	store := openInChild(t, time.Second)
	if store == nil {
		return
	}
	builtins, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	runInChild(t, engine.Config{
		Backend: store, Workers: builtins, Lease: time.Second, Signals: true, MaxDeliveries: 10_000, Slots: 8,
	})
}

// Three processes run instances that wait for one signal after the other, while one of them after the other is killed, and senders
// repeat themselves. Each instance gets each signal once, in order.
func TestSignalsOfKilledProcesses(t *testing.T) {
	on(t, designs.Durable(), func(s *site) {
		store := s.open().(signal.Store)
		const rounds = 5
		ids := submitMany(s, store, fmt.Sprintf(`fn main(input: [], output: [got]):
    got = []
    for i in range(%d):
        n = @wait_signal(name="go")
        got = got + [n]
`, rounds), depth.Of(20, 400))
		children := make([]*exec.Cmd, 3)
		for i := range children {
			children[i] = s.startSignals()
		}
		for n := range rounds {
			for i, id := range ids {
				if i == len(ids)/2 {
					s.replace(children, n)
				}
				for range 2 {
					m := signal.Message{Instance: id, Name: "go", Value: json.RawMessage(fmt.Sprint(n)), Key: fmt.Sprint("round ", n)}
					if _, err := signal.Send(s.ctx, store, m); err != nil && !errors.Is(err, signal.ErrInstanceEnded) {
						s.Fatal(err)
					}
				}
			}
			s.replace(children, n+1)
		}
		awaitEnded(s, store, ids, 1)
		found, err := store.Lookup(s.ctx, ids)
		if err != nil {
			s.Fatal(err)
		}
		for _, inst := range found {
			if string(inst.Result) != "[0,1,2,3,4]" {
				s.Errorf("instance %s: %s %s, %+v", inst.ID, inst.Status, inst.Result, inst.Failure)
			}
		}
		for i := range children {
			s.killProcess(children[i])
		}
		depth.Done(s.T, "instances=%d kills=%d", len(ids), 2*rounds)
	})
}

func (s *site) startSignals() *exec.Cmd {
	s.Helper()
	cmd := s.childRunning("TestChildSignals")
	if _, err := cmd.StdinPipe(); err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	return cmd
}

// replace kills one of the processes, and starts another.
func (s *site) replace(children []*exec.Cmd, n int) {
	s.Helper()
	s.killProcess(children[n%len(children)])
	children[n%len(children)] = s.startSignals()
}

func (s *site) killProcess(cmd *exec.Cmd) {
	s.Helper()
	if err := cmd.Process.Kill(); err != nil {
		s.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}
