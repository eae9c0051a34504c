package inject

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pulley/chaos/fault"
)

// script has a run write down what happens to it.
type script struct {
	Injector
	lines []string
	over  bool // no fault is tried again
}

func newScript() *script {
	s := &script{}
	s.Injector = Injector{
		World: engines{script: s}, Ledger: fault.NewLedger(), Happened: map[string]int{}, Missed: map[string]int{},
		Within: func(fault.Fault) time.Duration { return time.Minute }, IsOver: func() bool { return s.over },
		Begin: func(f fault.Fault) Note {
			s.write("begin %s k=%d", f.Kind, f.K)
			return Note{Over: func() { s.write("over") }, End: func(o Outcome) { s.write("end %t %d", o.Happened, o.Count) }}
		},
	}
	return s
}

func (s *script) write(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *script) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(s.lines, lines) {
		t.Errorf("what happened:\n%s\nwant:\n%s", strings.Join(s.lines, "\n"), strings.Join(lines, "\n"))
	}
	s.lines = nil
}

// engines is a world of two engines that write what is done to them.
type engines struct {
	fault.World
	script *script
}

func (engines) Engines() int                { return 2 }
func (e engines) Engine(i int) fault.Engine { return engine{script: e.script, number: i} }

type engine struct {
	fault.Engine
	script *script
	number int
}

func (e engine) Stop(context.Context) error  { e.script.write("stop %d", e.number); return nil }
func (e engine) Start(context.Context) error { e.script.write("start %d", e.number); return nil }

func (e engine) Signal(s syscall.Signal) error {
	e.script.write("signal %d: %v", e.number, s)
	return nil
}

func (e engine) Exited() <-chan struct{} {
	exited := make(chan struct{})
	close(exited)
	return exited
}

// kind makes a kind of fault from what its tries come to.
func kind(inject func(ctx context.Context, f fault.Fault, over func()) error) fault.Kind {
	return fault.Kind{Name: "wire.test", Inject: func(ctx context.Context, _ fault.World, f fault.Fault, over func()) error {
		return inject(ctx, f, over)
	}}
}

// TestInjectTriesSooner checks that a fault whose moment does not come is tried again, sooner, until it happens.
func TestInjectTriesSooner(t *testing.T) {
	t.Parallel()
	s := newScript()
	k := kind(func(_ context.Context, f fault.Fault, over func()) error {
		if f.K > 10 {
			return fault.ErrMissed
		}
		over()
		over()
		return nil
	})
	k.Nth = true
	happened, err := s.Inject(t.Context(), k, fault.Fault{Kind: k.Name, K: 40})
	if !happened || err != nil || s.Missed[k.Name] != 2 || s.Happened[k.Name] != 2 {
		t.Errorf("happened %t, %v; missed %v, happened %v", happened, err, s.Missed, s.Happened)
	}
	s.want(t, "begin wire.test k=40", "end false 0", "begin wire.test k=20", "end false 0", "begin wire.test k=10", "over", "over", "end true 2")
}

// TestInjectEnds checks when there is no further try.
func TestInjectEnds(t *testing.T) {
	t.Parallel()
	s := newScript()
	never := kind(func(context.Context, fault.Fault, func()) error {
		return fmt.Errorf("%w: the kernel is busy", fault.ErrMissed)
	})
	if happened, err := s.Inject(t.Context(), never, fault.Fault{Kind: never.Name}); happened || err != nil || s.Missed[never.Name] != TriesMax {
		t.Errorf("happened %t, %v, after %d tries", happened, err, s.Missed[never.Name])
	}
	if text := s.Missing(fault.Fault{Kind: "x"}); text != "x engine=0, did not happen in 8 tries, the last time since: the fault did not happen: the kernel is busy" {
		t.Error(text)
	}
	s.over, s.Missed = true, map[string]int{}
	if happened, err := s.Inject(t.Context(), never, fault.Fault{Kind: never.Name}); happened || err != nil || s.Missed[never.Name] != 1 {
		t.Errorf("happened %t, %v, after %d tries of a run that is over", happened, err, s.Missed[never.Name])
	}
	s.lines = nil
	broken := errors.New("no disk")
	wrong := kind(func(context.Context, fault.Fault, func()) error { return broken })
	late := new(Overtime)
	if _, err := s.Inject(t.Context(), wrong, fault.Fault{}); !errors.Is(err, broken) || errors.As(err, &late) {
		t.Errorf("an error of the kind becomes %v", err)
	}
	s.want(t, "begin  k=0", "end false 0")
	ended, cancel := context.WithCancelCause(t.Context())
	because := errors.New("because")
	cancel(because)
	if _, err := s.Inject(ended, wrong, fault.Fault{}); !errors.Is(err, because) {
		t.Errorf("the end of the run becomes %v", err)
	}
	s.Within = func(fault.Fault) time.Duration { return 0 }
	slow := kind(func(ctx context.Context, _ fault.Fault, _ func()) error {
		<-ctx.Done()
		return broken
	})
	if _, err := s.Inject(t.Context(), slow, fault.Fault{}); !errors.As(err, &late) || err.Error() != broken.Error() {
		t.Errorf("a fault that takes too long gives %v", err)
	}
}

// TestInjectWaits checks that a fault begins at its time and its event, and that one that must fail a statement and does not is
// missed.
func TestInjectWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, begun := newScript(), time.Now()
		s.Await = func(_ context.Context, w fault.When) {
			s.write("await %d %s after %v", w.N, w.Event, time.Since(begun))
		}
		s.over = true
		k := kind(func(_ context.Context, _ fault.Fault, over func()) error { over(); return nil })
		k.States = []string{"40P01"}
		happened, err := s.Inject(t.Context(), k, fault.Fault{Kind: k.Name, When: fault.When{AfterMS: 100, Event: "leased", N: 3}})
		if happened || err != nil || s.Missed[k.Name] != 1 || s.Happened[k.Name] != 0 {
			t.Errorf("happened %t, %v; missed %v, happened %v", happened, err, s.Missed, s.Happened)
		}
		s.want(t, "await 3 leased after 100ms", "begin wire.test k=0", "over", "end false 0")
	})
}

// TestRehearse checks what engines do in a round.
func TestRehearse(t *testing.T) {
	t.Parallel()
	s := newScript()
	recovered := func() error { s.write("recovered"); return nil }
	if err := Rehearse(t.Context(), s.World, 1, recovered); err != nil {
		t.Fatal(err)
	}
	round := slices.Clone(s.lines)
	s.want(t, "stop 0", "start 0", "stop 1", "start 1", "signal 0: killed", "start 0", "recovered")
	if err := Rehearse(t.Context(), s.World, 2, recovered); err != nil {
		t.Fatal(err)
	}
	s.want(t, slices.Concat(round, round)...)
}

// TestVisit has a kind that reaches one of three messages in each of its first turns.
func TestVisit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reaches int // messages; the others never come
		tour    Tour
		tries   []fault.Fault
	}{
		"all": {3, Tour{Most: time.Hour, IdleMax: 2}, []fault.Fault{{Engine: 0, HoldMS: 10}, {Engine: 1, HoldMS: 20}, {Engine: 0, HoldMS: 30}}},
		"the last never comes": {2, Tour{Most: time.Hour, IdleMax: 2}, []fault.Fault{
			{Engine: 0, HoldMS: 10}, {Engine: 1, HoldMS: 20}, {Engine: 0, HoldMS: 30}, {Engine: 1, HoldMS: 10},
		}},
		"no time": {3, Tour{}, nil},
		"enough":  {3, Tour{Most: time.Hour, IsEnough: func(fault.Coverage) bool { return true }}, nil},
	} {
		s, left, tried := newScript(), 3, []fault.Fault(nil)
		k := kind(func(_ context.Context, f fault.Fault, over func()) error {
			tried = append(tried, f)
			if left > 3-c.reaches {
				left--
			}
			over()
			return nil
		})
		k.Unvisited = func(*fault.Places) []string { return make([]string, left) }
		c.tour.Kinds, c.tour.HoldMS, c.tour.GapMS = []fault.Kind{k}, 10, 5
		if err := s.Visit(t.Context(), c.tour); err != nil {
			t.Fatal(err)
		}
		for i := range c.tries {
			c.tries[i].Kind, c.tries[i].K = k.Name, 5
		}
		if !slices.Equal(tried, c.tries) {
			t.Errorf("%s: the faults are %v, want %v", name, tried, c.tries)
		}
	}
	s := newScript()
	k := kind(func(context.Context, fault.Fault, func()) error { return errors.New("no disk") })
	k.Unvisited = func(*fault.Places) []string { return []string{"a message"} }
	err := s.Visit(t.Context(), Tour{Kinds: []fault.Kind{k}, Most: time.Hour})
	if err == nil || err.Error() != "wire.test engine=0: no disk" {
		t.Error(err)
	}
}

// TestShrink checks that lists lose everything but what is needed, in any place.
func TestShrink(t *testing.T) {
	t.Parallel()
	for n := range 9 {
		for needs := range 1 << n {
			list := make([]int, n)
			for i := range list {
				list[i] = needs >> i & 1
			}
			total := func(list []int) (sum int) {
				for _, one := range list {
					sum += one
				}
				return sum
			}
			needed := total(list)
			Shrink(n, func(from, to int) bool {
				smaller := slices.Delete(slices.Clone(list), from, to)
				if total(smaller) < needed {
					return false
				}
				list = smaller
				return true
			})
			if len(list) != needed || total(list) != needed {
				t.Fatalf("of %d with needs %b, %v is left", n, needs, list)
			}
		}
	}
}
