package fault

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"pulley/engine/pgserver/pgwire"
)

// startedEngine is an engine of one wire, whose starts say something on a connection that another engine, or it itself, has opened.
type startedEngine struct {
	Engine
	wire   *Wire
	says   func() // at a start
	dead   bool   // a signal comes too late for its process
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

// startedWorld has that engine.
type startedWorld struct {
	World
	engine *startedEngine
}

func (w startedWorld) Engine(int) Engine { return w.engine }
func (w startedWorld) Wire(int) *Wire    { return w.engine.wire }

// hello is a message of a process that starts.
func hello() *pgwire.Message { return message(true, 'Q', "SELECT 1\x00") }

// TestWhatIsLeftOfAProcessIsNoStart has a connection of the process before say something while the next one starts: that is no message
// of a start, and those of a connection that is opened then are.
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

// TestAKillThatComesTooLateIsNotAwaited has starts go wrong at their first message: the connection ends, then the process is killed,
// and then a kill meets a process that has ended. Nobody waits for the end of one that lives.
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
		e.dead = true // as where the message is one of the process before
		w.open(1)(hello())
	}
	if happened, err := startAtNewPlace(t.Context(), world, 0, func() { over++ }); !happened || err != nil || over != 3 {
		t.Errorf("happened %t, %v", happened, err)
	}
}

// placeOfHello is where the first message of a start stands.
func placeOfHello(t *testing.T) (at Place) {
	t.Helper()
	_, at, _ = newSession().handleMessage(hello(), true)
	if at.Operation != Starting {
		t.Fatalf("%+v is no place of a start", at)
	}
	return at
}
