package limit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pulley/engine/limit"
)

var begin = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func TestParseRate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]limit.Rate{
		"100/s": {Starts: 100, Per: time.Second}, "10/m": {Starts: 10, Per: time.Minute}, "5/h": {Starts: 5, Per: time.Hour},
		"1/d": {Starts: 1, Per: 24 * time.Hour}, "30/15s": {Starts: 30, Per: 15 * time.Second},
	} {
		got, err := limit.ParseRate(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %s, %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "100", "/s", "x/s", "1/x", "0/s", "-1/s", "1/0s", "1/100ms", "1/25h", "1e9/s", "2000000/s", "1/s/s"} {
		if r, err := limit.ParseRate(text); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("rate %q", text)) {
			t.Errorf("%q: %+v, %v", text, r, err)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := limit.Limit{Name: "a", Actions: []string{"x", "y"}, Concurrency: 1}
	for want, change := range map[string]func(*limit.Limit){
		"":                           func(*limit.Limit) {},
		"name of a limit is empty":   func(l *limit.Limit) { l.Name = "" },
		"name of a limit has 201":    func(l *limit.Limit) { l.Name = strings.Repeat("n", 201) },
		`name of an action is "\x1b`: func(l *limit.Limit) { l.Actions = []string{"\x1b[31m"} },
		"0 actions; give from 1":     func(l *limit.Limit) { l.Actions = nil },
		`action "x" is named twice`:  func(l *limit.Limit) { l.Actions = []string{"x", "y", "x"} },
		"a limit has -1 instances; give from 1 to 1000000":       func(l *limit.Limit) { *l = limit.Limit{Name: "a", Instances: -1} },
		"a limit has 0 instances; give from 1":                   func(l *limit.Limit) { *l = limit.Limit{Name: "a", Workflows: []string{"x"}} },
		"instances of workflows or attempts of actions; set one": func(l *limit.Limit) { l.Instances = 1 },
		`workflow "x" is named twice`:                            func(l *limit.Limit) { *l = limit.Limit{Name: "a", Instances: 1, Workflows: []string{"x", "x"}} },
		"the name of a workflow is empty":                        func(l *limit.Limit) { *l = limit.Limit{Name: "a", Instances: 1, Workflows: []string{""}} },
		"concurrency is -1":                                      func(l *limit.Limit) { l.Concurrency = -1 },
		"bounds nothing":                                         func(l *limit.Limit) { l.Concurrency = 0 },
		"a rate allows 0 starts":                                 func(l *limit.Limit) { l.Rate.Per = time.Second },
		"a rate is per 0s; give from":                            func(l *limit.Limit) { l.Rate.Starts = 1 },
	} {
		l := good
		change(&l)
		if err := l.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
}

var times = limit.Times{Lease: 10 * time.Second, Turn: 100 * time.Millisecond}

// Engines get what they need, or equal shares; those that have enough do not lose to those that want all.
func TestShares(t *testing.T) {
	t.Parallel()
	l := limit.Limit{Name: "l", Actions: []string{"a"}, Concurrency: 10}
	var st limit.State
	turn := func(engine string, after time.Duration, need limit.Need, want int) {
		t.Helper()
		var g limit.Grant
		if st, g = l.Decide(st, begin.Add(after), engine, need, times); g.Permits != want {
			t.Errorf("%s gets %d permits at %v, want %d: %+v", engine, g.Permits, after, want, st)
		}
	}
	turn("a", 0, limit.Need{Waiting: 100}, 10)
	turn("b", 0, limit.Need{Waiting: 2}, 0) // a has all
	turn("a", 1, limit.Need{Running: 10, Waiting: 90}, 8)
	turn("b", 1, limit.Need{Waiting: 2}, 0) // a's attempts run on
	turn("a", 2, limit.Need{Running: 8, Waiting: 90}, 8)
	turn("b", 2, limit.Need{Waiting: 2}, 2)
	turn("c", 3, limit.Need{Waiting: 50}, 0)
	turn("a", 4, limit.Need{Running: 8, Waiting: 90}, 4)
	turn("a", 5, limit.Need{Running: 3, Waiting: 90}, 4)
	turn("c", 5, limit.Need{Waiting: 50}, 4)
	turn("a", 6, limit.Need{}, 0)
	turn("c", 6, limit.Need{Running: 4, Waiting: 50}, 8)
	turn("a", 11*time.Second, limit.Need{Waiting: 100}, 10) // the leases of the others have ended
	if st.Has("c") || !st.Has("a") || len(st.Current(begin.Add(time.Hour))) != 0 {
		t.Errorf("%+v", st)
	}
}

// One permit goes round among engines that all want it.
func TestPermitGoesRound(t *testing.T) {
	t.Parallel()
	l := limit.Limit{Name: "l", Actions: []string{"a"}, Concurrency: 1}
	var st limit.State
	had := map[string]int{}
	holder, now := "", begin
	for range 3000 {
		for _, engine := range []string{"a", "b", "c"} {
			now = now.Add(times.Turn / 3)
			need := limit.Need{Waiting: 5} // its attempts are short: none runs at its turn, unless it starts another one
			var g limit.Grant
			if st, g = l.Decide(st, now, engine, need, times); g.Permits > 0 {
				had[engine]++
				holder = engine
			}
		}
	}
	for _, engine := range []string{"a", "b", "c"} {
		if had[engine] < 500 {
			t.Errorf("%s had the permit %d of 3000 times, and %s is the last: %v", engine, had[engine], holder, had)
		}
	}
}

// Whatever engines need, and whenever they die, the sum of permits is within the limit, and starts are as far apart as the rate says.
func TestLimitsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := limit.Limit{Name: "l", Actions: []string{"a"}, Concurrency: rapid.IntRange(1, 20).Draw(t, "concurrency")}
		l.Rate = limit.Rate{Starts: rapid.IntRange(1, 50).Draw(t, "starts"), Per: time.Duration(rapid.IntRange(1, 3).Draw(t, "per")) * time.Second}
		type engine struct {
			running, permits int
			until            time.Time
		}
		engines := map[string]*engine{}
		var st limit.State
		var history []limit.Attempt
		now := begin
		for range rapid.IntRange(1, 200).Draw(t, "turns") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond)
			id := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "engine")
			e := engines[id]
			if e == nil || !e.until.After(now) || rapid.IntRange(0, 20).Draw(t, "dies") == 0 {
				e = &engine{} // another incarnation
				id += fmt.Sprint(len(history), now.UnixNano())
				engines[id] = e
			}
			e.running -= rapid.IntRange(0, e.running).Draw(t, "ended")
			e.permits = min(e.permits, e.running)
			var g limit.Grant
			st, g = l.Decide(st, now, id, limit.Need{Running: e.running, Waiting: rapid.IntRange(0, 30).Draw(t, "waiting")}, times)
			e.permits, e.until = g.Permits, now.Add(times.Lease)
			e.running = max(e.running, rapid.IntRange(0, e.permits).Draw(t, "run"))
			sum := 0
			for _, other := range engines {
				if other.until.After(now) {
					sum += max(other.running, other.permits)
				}
			}
			if sum > l.Concurrency {
				t.Fatalf("engines may run %d attempts of %d: %+v", sum, l.Concurrency, st)
			}
			for i := range g.Starts {
				late := time.Duration(rapid.Int64Range(0, int64(l.Rate.Slack())).Draw(t, "late"))
				at := g.First.Add(time.Duration(i) * l.Rate.Every()).Add(late)
				history = append(history, limit.Attempt{Action: "a", Start: at, End: at})
			}
		}
		if err := l.Check(history); err != nil && strings.Contains(err.Error(), "start within") {
			t.Fatal(err)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	two := limit.Limit{Name: "two", Actions: []string{"a"}, Concurrency: 2, Rate: limit.Rate{Starts: 3, Per: time.Second}}
	run := func(action string, from, to int) limit.Attempt {
		return limit.Attempt{Action: action, Start: at(from), End: at(to)}
	}
	for want, attempts := range map[string][]limit.Attempt{
		"":                             {run("a", 0, 10), run("a", 5, 12), run("a", 10, 20), run("b", 0, 100), run("a", 1000, 1010)},
		"limit two: 3 attempts run at": {run("a", 0, 10), run("a", 5, 12), run("a", 9, 20)},
		"limit two: 4 attempts start within 999ms": {run("a", 0, 1), run("a", 5, 6), run("a", 9, 20), run("a", 999, 1000)},
	} {
		if err := two.Check(attempts); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if kept := two.Kept([]limit.Attempt{run("a", 0, 1), run("a", 500, 501), run("b", 501, 502), run("a", 1000, 1001)}); kept < 0.666 || kept > 0.667 {
		t.Errorf("%v of the rate is used", kept)
	}
}

// Two engines share three permits.
func ExampleLimit_Decide() {
	l := limit.Limit{Name: "charge", Actions: []string{"charge"}, Concurrency: 3}
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	times := limit.Times{Lease: 10 * time.Second, Turn: 100 * time.Millisecond}
	st, first := l.Decide(limit.State{}, now, "one", limit.Need{Waiting: 2}, times)
	st, second := l.Decide(st, now, "two", limit.Need{Waiting: 5}, times)
	_, later := l.Decide(st, now.Add(11*time.Second), "two", limit.Need{Running: 1, Waiting: 5}, times) // the first one died
	fmt.Println(first.Permits, second.Permits, later.Permits)
	// Output:
	// 2 1 3
}

// Candidates get places in order, as long as all limits have some; one that has a place takes no other.
func TestAdmit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 8).Draw(t, "candidates")
		places := make([]limit.Places, rapid.IntRange(0, 3).Draw(t, "limits"))
		for i := range places {
			places[i].Free = rapid.IntRange(-2, 6).Draw(t, "free")
			places[i].Have = rapid.SliceOfN(rapid.Bool(), n, n).Draw(t, "have")
		}
		admitted, full := limit.Admit(n, places)
		taken := make([]int, len(places))
		for c := range n {
			for i, p := range places {
				if admitted[c] && !p.Have[c] {
					taken[i]++
				}
			}
			if !admitted[c] && (places[full[c]].Have[c] || places[full[c]].Free > taken[full[c]]) {
				t.Errorf("candidate %d has no place, and limit %d has one", c, full[c])
			}
		}
		for i, p := range places {
			if taken[i] > max(p.Free, 0) {
				t.Errorf("limit %d gave %d of %d places", i, taken[i], p.Free)
			}
		}
	})
}

func TestCovers(t *testing.T) {
	t.Parallel()
	all, some := limit.Limit{Instances: 1}, limit.Limit{Instances: 1, Workflows: []string{"a.ir"}}
	if !all.Covers("b.ir") || some.Covers("b.ir") || !some.Covers("a.ir") || (limit.Limit{Actions: []string{"a.ir"}}).Covers("a.ir") {
		t.Error("a limit covers other workflows than its own")
	}
}
