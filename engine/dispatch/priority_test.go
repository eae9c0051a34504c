package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/internal/depth"
)

// stepsProgram has five steps of one action.
const stepsProgram = `
fn main(input: [], output: [x]):
    a = @%[1]s()
    b = @%[1]s(after=a)
    c = @%[1]s(after=b)
    d = @%[1]s(after=c)
    x = @%[1]s(after=d)
`

// urgentProgram compiles a program with a priority.
func urgentProgram(t *testing.T, text string, priority int) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("urgent.ir", []byte(text), ir.Limits{})
	if err == nil {
		p, err = p.WithPriority(priority)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startsOf returns when the attempts of an action started, those that run included.
func (w *limitWorld) startsOf(action string) (starts []time.Time) {
	for _, a := range w.history {
		if a.Action == action {
			starts = append(starts, a.Start)
		}
	}
	return starts
}

// A thousand instances wait and work. Urgent ones that come later pass them at every step, and without a priority they do not.
func TestUrgentPasses(t *testing.T) {
	const backlog, urgent = 1500, 30
	for seed := range uint64(depth.Of(2, 30)) {
		for _, priority := range []int{0, 1, graph.PriorityMax} {
			t.Run(fmt.Sprint(seed, "/", priority), func(t *testing.T) {
				w := newLimitWorld(t, seed, 1+int(seed)%3)
				w.takes = func(string) time.Duration { return time.Duration(50+w.rng.IntN(100)) * 100 * time.Microsecond }
				w.submit(fmt.Sprintf(stepsProgram, "usual"), backlog)
				w.addEngine()
				w.addEngine()
				submitted := map[string]time.Time{}
				for i := range urgent {
					action := fmt.Sprint("u", i)
					w.after(time.Duration(100+20*i)*time.Millisecond, func() {
						submitted[action] = w.now
						w.submitProgram(urgentProgram(t, fmt.Sprintf(stepsProgram, action), priority))
					})
				}
				w.runUntil(func() bool { return w.ended == backlog+urgent })
				if len(w.history) != 5*(backlog+urgent) {
					t.Errorf("%d attempts of %d steps", len(w.history), 5*(backlog+urgent))
				}
				var longest time.Duration
				for action, at := range submitted {
					starts := w.startsOf(action)
					longest = max(longest, starts[len(starts)-1].Sub(at))
				}
				// Five steps take 50 ms on average, and each waits for a claim of an engine that polls every 50 ms.
				if most := 600 * time.Millisecond; priority > 0 && longest > most || priority == 0 && longest < most {
					t.Errorf("with the priority %d, the last step of five started up to %v after the submission", priority, longest)
				}
			})
		}
	}
}

// While urgent work waits, nothing else is started, whatever shard it is in and whatever its instances have begun, but for what an engine
// starts before it has learned of the urgent work, and in moments in which it waits for an answer.
func TestUrgentHasTheSlots(t *testing.T) {
	for _, c := range []struct {
		shards int
		takes  time.Duration
	}{{1, time.Second}, {3, time.Second}, {4, time.Second}, {1, 5 * time.Millisecond}, {16, 5 * time.Millisecond}} {
		t.Run(fmt.Sprint(c.shards, "/", c.takes), func(t *testing.T) {
			w := newLimitWorld(t, uint64(c.shards), c.shards)
			w.slots = 4
			w.takes = func(string) time.Duration { return time.Duration(50+w.rng.IntN(100)) * c.takes / 100 }
			w.submit(fmt.Sprintf(stepsProgram, "usual"), 200)
			e := w.addEngine()
			const urgent = 40
			p := urgentProgram(t, fmt.Sprintf(stepsProgram, "urgent"), 5)
			began := 0
			w.after(5*c.takes, func() {
				began = w.done["usual"]
				for range urgent {
					w.submitProgram(p)
				}
			})
			w.runUntil(func() bool {
				if e.m.Idle() {
					t.Fatal("it is idle although usual work waits in every shard")
				}
				return w.done["urgent"] == 5*urgent
			})
			if usual := w.done["usual"] - began; usual > urgent {
				t.Errorf("%d usual tasks were done while %d urgent ones were", usual, 5*urgent)
			} else {
				t.Logf("%d usual tasks were done while %d urgent ones were", usual, 5*urgent)
			}
		})
	}
}

// More urgent work comes than can be done. What is not urgent is done nevertheless: after all that was ready when it came, and what came
// within the time that the others' priority is worth.
func TestWaitingMakesUrgent(t *testing.T) {
	const slots, backlog = 32, 200
	takes, every := 8*time.Second, 200*time.Millisecond // so five come while four are done
	for i, priority := range depth.Of([]int{1, 2}, []int{1, 2, 3}) {
		t.Run(fmt.Sprint(priority), func(t *testing.T) {
			w := newLimitWorld(t, uint64(i), 1+i)
			w.takes = func(string) time.Duration { return takes * time.Duration(50+w.rng.IntN(100)) / 100 }
			one := "\nfn main(input: [], output: [x]):\n    x = @%s()\n"
			w.addEngine()
			urgent, p := 0, urgentProgram(t, fmt.Sprintf(one, "urgent"), priority)
			submitUrgent := func() {
				urgent++
				w.submitProgram(p)
			}
			for range backlog {
				submitUrgent()
			}
			begun := w.now
			w.submit(fmt.Sprintf(one, "usual"), 3)
			var come func()
			come = func() {
				submitUrgent()
				w.after(every, come)
			}
			w.after(every, come)
			headStart := time.Duration(priority) * backend.PriorityStep
			want := time.Duration(backlog+int(headStart/every)) * takes / slots
			over := false
			w.after(2*want, func() { over = true })
			w.runUntil(func() bool { return over || w.done["usual"] == 3 })
			starts := w.startsOf("usual")
			if len(starts) != 3 {
				t.Fatalf("%d of 3 usual tasks were done in %v", len(starts), 2*want)
			}
			for _, at := range starts {
				if waited := at.Sub(begun); waited < want*2/3 || waited > want*4/3 {
					t.Errorf("a usual task waited for %v, want about %v", waited, want)
				}
			}
			if done := w.done["urgent"]; urgent-done < backlog/2 {
				t.Errorf("only %d of %d urgent ones were left: there was no more work than could be done", urgent-done, urgent)
			}
		})
	}
}
