package fault

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"pulley/engine/pgserver/pgwire"
)

// startedEngine is an engine with one wire. Its starts send messages on a connection that it or another engine has opened.
type startedEngine struct {
	Engine
	wire   *Wire
	says   func()
	dead   bool // its process has ended before a signal
	exited chan struct{}
}

func (e *startedEngine) Signal(syscall.Signal) error {
	if e.dead {
		return os.ErrProcessDone
	}
	close(e.exited)
	return nil
}

func (e *startedEngine) Exited() <-chan struct{} { return e.exited }

func (e *startedEngine) Start(context.Context) error {
	e.exited = make(chan struct{})
	e.wire.Starting(true)
	defer e.wire.Starting(false)
	e.says()
	select {
	case <-e.exited:
		return errors.New("killed while it started")
	default:
		return nil
	}
}

type startedWorld struct {
	World
	engine *startedEngine
}

func (w startedWorld) Engine(int) Engine { return w.engine }
func (w startedWorld) Wire(int) *Wire    { return w.engine.wire }

func hello() *pgwire.Message { return message(true, 'Q', "SELECT 1\x00") }

// TestWhatIsLeftOfAProcessIsNoStart checks that messages of the previous process are not part of a start, and that those of a
// connection opened during it are.
func TestWhatIsLeftOfAProcessIsNoStart(t *testing.T) {
	w := &Wire{ledger: NewLedger()}
	var seen []string
	w.set(func(_ *pgwire.Message, s sight) pgwire.Verdict {
		seen = append(seen, s.place.Operation)
		return pass
	})
	before := w.open(1)
	w.Starting(true)
	starting := w.open(2)
	before(hello())
	starting(hello())
	w.Starting(false)
	starting(message(false, 'Z', "I"))
	starting(hello())
	if len(seen) != 4 || seen[0] == Starting || seen[1] != Starting || seen[3] == Starting {
		t.Errorf("the messages are of %q", seen)
	}
}

// TestAKillThatComesTooLateIsNotAwaited disturbs starts at their first message: the connection ends; the process is killed; a
// kill hits a process that has ended. It checks that only the end of a killed process is awaited.
func TestAKillThatComesTooLateIsNotAwaited(t *testing.T) {
	w := &Wire{ledger: NewLedger()}
	e := &startedEngine{wire: w, exited: make(chan struct{})}
	e.says = func() { w.open(1)(hello()) }
	world := startedWorld{engine: e}
	over := 0
	for i, way := range []Way{Before, Kill} {
		happened, err := startAtNewPlace(t.Context(), world, 0, func() { over++ })
		if !happened || err != nil || over != i+1 || w.ledger.Places.done[way][placeOfHello(t)] != 1 {
			t.Fatalf("%s: happened %t, %v; places %v", way, happened, err, w.ledger.Places.done)
		}
	}
	w.ledger.Places.done[Kill] = nil
	e.says = func() {
		e.dead = true // as if the message came from the previous process
		w.open(1)(hello())
	}
	if happened, err := startAtNewPlace(t.Context(), world, 0, func() { over++ }); !happened || err != nil || over != 3 {
		t.Errorf("happened %t, %v", happened, err)
	}
}

func placeOfHello(t *testing.T) (at Place) {
	t.Helper()
	_, at, _ = newSession().handleMessage(hello(), true)
	if at.Operation != Starting {
		t.Fatalf("%+v is no place of a start", at)
	}
	return at
}
