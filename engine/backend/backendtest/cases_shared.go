package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/limit"
	"pulley/engine/schedule"
)

var scheduleCases = []testCase{
	{name: "schedules are kept", run: schedulesAreKept},
	{name: "schedules are claimed once", run: schedulesAreClaimedOnce},
}

func (r *rig) schedules(b backend.Backend) backend.Scheduler {
	r.Helper()
	s, ok := b.(backend.Scheduler)
	if !ok {
		r.Fatal("the backend has no schedules")
	}
	return s
}

func (r *rig) newSchedule(name string, spec schedule.Spec) backend.Schedule {
	r.Helper()
	times, err := schedule.Compile(spec)
	if err != nil {
		r.Fatal(err)
	}
	w := Workflows()[0]
	return backend.Schedule{ID: uuid.New(), Name: name, Program: w.Program(r.T), Input: json.RawMessage(w.Input), Times: times}
}

// must fails the case on an error.
func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) wantSchedules(b backend.Scheduler, want ...string) []backend.StoredSchedule {
	r.Helper()
	all, now, err := b.Schedules(r.ctx)
	r.must(err)
	var got []string
	for _, s := range all {
		r.must(s.Err)
		got = append(got, s.Name)
	}
	if !slices.Equal(got, want) || now.IsZero() {
		r.Fatalf("at %v there are schedules %v, want %v", now, got, want)
	}
	return all
}

func schedulesAreKept(r *rig) {
	b := r.schedules(r.b)
	r.wantSchedules(b)
	daily := r.newSchedule("daily", schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Berlin", Jitter: time.Minute, Overlap: schedule.Cancel, CatchUp: schedule.All, CatchUpMax: 7})
	often := r.newSchedule("often", schedule.Spec{Every: 100 * time.Hour})
	r.must(b.AddSchedule(r.ctx, often, false))
	r.must(b.AddSchedule(r.ctx, daily, true))
	r.must(b.AddSchedule(r.ctx, daily, true)) // a repetition
	if err := b.AddSchedule(r.ctx, r.newSchedule("daily", schedule.Spec{Every: time.Hour}), false); !errors.Is(err, backend.ErrScheduleExists) {
		r.Errorf("a second schedule of the same name: %v", err)
	}
	again := r.schedules(r.reopen())
	all := r.wantSchedules(again, "daily", "often")
	got := all[0]
	if got.ID != daily.ID || got.Program.Hash() != daily.Program.Hash() || string(got.Input) != string(daily.Input) || got.Times.Spec() != daily.Times.Spec() || !got.State.Paused || !got.Wake.IsZero() {
		r.Errorf("daily was stored as %+v", got)
	}
	if all[1].State.Paused || !all[1].Wake.Equal(all[1].State.Next) {
		r.Errorf("often is due at %v, and its state is %+v", all[1].Wake, all[1].State)
	}
	tick := time.Date(2026, 3, 29, 1, 30, 0, 123_456_789, time.UTC)
	state := schedule.State{Next: tick, Start: []time.Time{tick, tick.Add(1)}, Running: []time.Time{tick}, Waiting: []time.Time{tick.Add(2)}, Cancel: []time.Time{tick}, Fired: 3, Skipped: 2, Problem: "none"}
	saves := []backend.ScheduleSave{
		{ID: got.ID, Version: got.Version, State: state, Wake: tick}, {ID: uuid.New(), Version: 1}, {ID: all[1].ID, Version: all[1].Version + 1, State: state},
	}
	saved, err := b.SaveSchedules(r.ctx, saves)
	r.must(err)
	if !slices.Equal(saved, []bool{true, false, false}) {
		r.Errorf("a current version, an unknown schedule and a wrong version: saved are %v", saved)
	}
	after, _, err := again.Schedules(r.ctx, "daily", "unknown")
	r.must(err)
	if len(after) != 1 || after[0].Version != got.Version+1 || fmt.Sprintf("%+v", after[0].State) != fmt.Sprintf("%+v", state) || after[0].Wake.Sub(tick).Abs() > time.Microsecond || after[0].Wake.Before(tick) {
		r.Errorf("the state\n%+v was read as\n%+v", state, after)
	}
	for i, want := range []bool{true, false} {
		if removed, err := b.RemoveSchedule(r.ctx, "daily"); err != nil || removed != want {
			r.Errorf("removal %d: %t, %v", i, removed, err)
		}
	}
	r.wantSchedules(b, "often")
}

// Several backends claim due schedules concurrently; each is claimed once, and claimed again when its lease ends.
func schedulesAreClaimedOnce(r *rig) {
	b := r.schedules(r.b)
	const n = 30
	for i := range n {
		r.must(b.AddSchedule(r.ctx, r.newSchedule(fmt.Sprintf("s%02d", i), schedule.Spec{Every: schedule.EveryMin}), false))
	}
	r.waitUntilDue(b, n)
	claims := make([]map[uuid.UUID]int64, 3)
	var group sync.WaitGroup
	for i := range claims {
		other := r.schedules(r.reopen())
		claims[i] = map[uuid.UUID]int64{}
		group.Go(func() {
			for range n {
				got, err := other.ClaimSchedules(r.ctx, 4, longLease)
				if err != nil {
					r.Error(err)
					return
				}
				if len(got.Schedules) > 4 {
					r.Errorf("%d schedules were claimed, at most 4 may", len(got.Schedules))
				}
				for _, s := range got.Schedules {
					if s.Wake.After(got.Now) {
						r.Errorf("a schedule that is due at %v was claimed at %v", s.Wake, got.Now)
					}
					claims[i][s.ID] = s.Version
				}
			}
		})
	}
	group.Wait()
	total := map[uuid.UUID]int64{}
	for _, mine := range claims {
		for id, version := range mine {
			if _, twice := total[id]; twice {
				r.Errorf("schedule %s was claimed twice", id)
			}
			total[id] = version
		}
	}
	if len(total) != n {
		r.Fatalf("%d of %d due schedules were claimed", len(total), n)
	}
	r.fenced(b, total)
}

// fenced saves a claimed schedule as due, claims it again, and shows that the first claim can save no more.
func (r *rig) fenced(b backend.Scheduler, claimed map[uuid.UUID]int64) {
	for id, version := range claimed {
		_, now, err := b.Schedules(r.ctx)
		r.must(err)
		first := backend.ScheduleSave{ID: id, Version: version, Wake: now.Add(-time.Second)}
		saved, err := b.SaveSchedules(r.ctx, []backend.ScheduleSave{first})
		if err != nil || !saved[0] {
			r.Fatalf("a claimed schedule cannot be saved: %v, %v", saved, err)
		}
		got, err := b.ClaimSchedules(r.ctx, len(claimed), longLease)
		if err != nil || len(got.Schedules) != 1 || got.Schedules[0].ID != id || got.Schedules[0].Version != version+2 {
			r.Fatalf("a schedule that became due again: %+v, %v", got.Schedules, err)
		}
		if !got.NextDue.After(got.Now) {
			r.Errorf("all are claimed, and the next is due at %v, before %v", got.NextDue, got.Now)
		}
		first.Version++
		if saved, err := b.SaveSchedules(r.ctx, []backend.ScheduleSave{first}); err != nil || saved[0] {
			r.Errorf("a claim that was overtaken saved: %v, %v", saved, err)
		}
		return
	}
}

func (r *rig) waitUntilDue(b backend.Scheduler, n int) {
	r.Helper()
	for ; r.ctx.Err() == nil; pause(r.ctx, 10*time.Millisecond, r.Advance) {
		all, now, err := b.Schedules(r.ctx)
		r.must(err)
		due := 0
		for _, s := range all {
			if !s.Wake.After(now) {
				due++
			}
		}
		if due == n {
			return
		}
	}
	r.Fatal("schedules do not become due")
}

var limitCases = []testCase{
	{name: "limits are kept", run: limitsAreKept},
	{name: "limits are saved by version", run: limitsAreSavedByVersion},
	{name: "instances are admitted", run: instancesAreAdmitted},
	{name: "engines admit instances together", run: enginesAdmitTogether},
}

// admitted checks which limits are full for instances.
func (r *rig) admitted(l backend.Limiter, workflow string, ids []uuid.UUID, want ...string) {
	r.Helper()
	got, err := l.Admit(r.ctx, workflow, ids)
	if r.must(err); !slices.Equal(got, want) {
		r.Errorf("of %s, full are %q, want %q", workflow, got, want)
	}
}

// A limit of instances takes as many as it has places, under their ids; ends free places.
func instancesAreAdmitted(r *rig) {
	limiter := r.limiter(r.b)
	if limiter == nil {
		return
	}
	const workflow, other = "test.ir", "other.ir"
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	r.admitted(limiter, workflow, ids[:2], "", "") // there are no limits

	running := r.submitOne(single, `{"v": 1}`, grant(1))
	for _, l := range []limit.Limit{{Name: "all", Instances: 4}, {Name: "own", Instances: 3, Workflows: []string{"it's \"é\"", workflow}}} {
		r.must(limiter.SetLimit(r.ctx, l))
	}
	r.admitted(limiter, other, ids[:1], "")
	r.admitted(limiter, workflow, ids[1:5], "", "", "all", "all") // one runs, and one is another's
	r.admitted(limiter, workflow, ids[1:4], "", "", "all")        // two have places
	r.admitted(limiter, other, ids[3:4], "all")
	r.must(limiter.SetLimit(r.ctx, limit.Limit{Name: "all", Instances: 5})) // what has a place keeps it, stored or not
	r.admitted(limiter, other, ids[3:5], "", "all")
	r.must(limiter.SetLimit(r.ctx, limit.Limit{Name: "all", Instances: 100}))
	r.admitted(limiter, workflow, ids[3:4], "own")

	r.applied(grant(0), done(r.delivered(running, 1, 1), `1`))
	for end := false; !end; { // the pause between two looks for ended instances
		got, err := limiter.Admit(r.ctx, workflow, ids[3:4])
		r.must(err)
		if end = got[0] == ""; !end {
			pause(r.ctx, time.Millisecond, r.Advance)
		}
	}
	r.admitted(limiter, workflow, ids[4:5], "own")
	removed, err := limiter.RemoveLimit(r.ctx, "own")
	if r.must(err); !removed {
		r.Error("no limit was removed")
	}
	r.admitted(limiter, workflow, ids[4:5], "")
	found, _, err := limiter.Limits(r.ctx)
	if r.must(err); len(found) != 1 || found[0].Instances != 100 || found[0].State.Admitted < 5 || found[0].State.Admitted > 6 { // one has ended, which need not be noticed
		r.Errorf("limits are %+v", found)
	}
	if err := limiter.SetLimit(r.ctx, limit.Limit{Name: "both", Instances: 1, Actions: []string{"x"}}); err == nil {
		r.Error("a limit of instances and of actions was stored")
	}
}

// Several backends that admit at the same time never exceed a limit, and a repetition takes no second place.
func enginesAdmitTogether(r *rig) {
	first := r.limiter(r.b)
	if first == nil {
		return
	}
	const most, each = 50, 20
	r.must(first.SetLimit(r.ctx, limit.Limit{Name: "few", Instances: most}))
	r.must(first.SetLimit(r.ctx, limit.Limit{Name: "many", Instances: most + 10, Workflows: []string{"a"}}))
	var group sync.WaitGroup
	var mu sync.Mutex
	places := map[uuid.UUID]bool{}
	for i := range 4 {
		limiter := r.limiter(r.reopen())
		workflow := []string{"a", "b"}[i%2]
		group.Go(func() {
			ids := make([]uuid.UUID, each)
			for k := range ids {
				ids[k] = uuid.New()
			}
			for range 3 {
				full, err := limiter.Admit(r.ctx, workflow, ids)
				if err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				for k, name := range full {
					if name == "" {
						places[ids[k]] = true
					} else if places[ids[k]] {
						r.Error("an instance lost its place")
					}
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	found, _, err := first.Limits(r.ctx)
	if r.must(err); len(places) != most || found[0].State.Admitted != most || found[1].State.Admitted > most {
		r.Errorf("%d instances have places, and the limits say %+v; %d may", len(places), found, most)
	}
}

// limiter returns the backend's limits; nil: it has none, and says so by not being a backend.Limiter.
func (r *rig) limiter(b backend.Backend) backend.Limiter {
	l, _ := b.(backend.Limiter)
	return l
}

func limitsAreKept(r *rig) {
	store := r.limiter(r.Backend)
	if store == nil {
		return
	}
	sends := limit.Limit{Name: "sends", Actions: []string{"send", "it's \"é\""}, Rate: limit.Rate{Starts: 100, Per: time.Second}}
	charge := limit.Limit{Name: "charge", Actions: []string{"charge"}, Concurrency: 7}
	for _, l := range []limit.Limit{sends, charge} {
		r.must(store.SetLimit(r.ctx, l))
	}
	clash := limit.Limit{Name: "other", Actions: []string{"pay", "charge"}, Concurrency: 1}
	if err := store.SetLimit(r.ctx, clash); !errors.Is(err, backend.ErrActionLimited) {
		r.Errorf("an action was put in two limits: %v", err)
	}
	if err := store.SetLimit(r.ctx, limit.Limit{Name: "nothing", Actions: []string{"free"}}); err == nil {
		r.Error("a limit that bounds nothing was stored")
	}
	charge.Concurrency, charge.Actions = 3, []string{"charge", "pay"}
	r.must(store.SetLimit(r.ctx, charge))

	again := r.limiter(r.Reopen(r.T))
	all, now, err := again.Limits(r.ctx)
	r.must(err)
	if len(all) != 2 || !reflect.DeepEqual(all[0].Limit, charge) || !reflect.DeepEqual(all[1].Limit, sends) || now.IsZero() {
		r.Fatalf("at %v there are limits %+v", now, all)
	}
	for _, want := range []bool{true, false} {
		if removed, err := again.RemoveLimit(r.ctx, "sends"); err != nil || removed != want {
			r.Errorf("removed: %v, %v", removed, err)
		}
	}
	r.must(store.SetLimit(r.ctx, limit.Limit{Name: "other", Actions: []string{"send"}, Concurrency: 1}))
}

// limitsAreSavedByVersion checks that of many engines that decide at the same time, one is stored for each version.
func limitsAreSavedByVersion(r *rig) {
	store := r.limiter(r.Backend)
	if store == nil {
		return
	}
	r.must(store.SetLimit(r.ctx, limit.Limit{Name: "charge", Actions: []string{"charge"}, Concurrency: 7}))
	found, now, err := store.Limits(r.ctx)
	r.must(err)
	var mu sync.Mutex
	var all sync.WaitGroup
	stored := 0
	for _, engine := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			state := limit.State{Engines: []limit.Share{{Engine: engine, Permits: 1, Until: now.Add(time.Hour)}}}
			saved, err := store.SaveLimits(r.ctx, []backend.LimitSave{{Name: "charge", Version: found[0].Version, State: state}, {Name: "unknown", Version: 1}})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || len(saved) != 2 || saved[1] {
				r.Errorf("saved: %v, %v", saved, err)
			} else if saved[0] {
				stored++
			}
		})
	}
	all.Wait()
	after, _, err := store.Limits(r.ctx)
	r.must(err)
	if stored != 1 || after[0].Version <= found[0].Version || len(after[0].State.Engines) != 1 || !after[0].State.Has(after[0].State.Engines[0].Engine) {
		r.Errorf("%d of four saves of one version were stored: %+v", stored, after)
	}
	// One that was removed and set again has another version.
	if _, err := store.RemoveLimit(r.ctx, "charge"); err != nil {
		r.Error(err)
	}
	r.must(store.SetLimit(r.ctx, limit.Limit{Name: "charge", Actions: []string{"charge"}, Concurrency: 7}))
	saved, err := store.SaveLimits(r.ctx, []backend.LimitSave{{Name: "charge", Version: after[0].Version}})
	if r.Advance == nil && (err != nil || saved[0]) {
		r.Errorf("a save of before the limit was set again was stored: %v", err)
	}
}

var signalCases = []testCase{
	{name: "signals are taken once", run: signalsAreTakenOnce},
	{name: "signals are returned", run: signalsAreReturned},
	{name: "signals wake waits", run: signalsWakeWaits},
	{name: "node runs are made due", run: runsAreMadeDue},
}

func (r *rig) signaler(b backend.Backend) backend.Signaler {
	r.Helper()
	s, ok := b.(backend.Signaler)
	if !ok {
		r.Fatal("the backend has no signals")
	}
	return s
}

func waitOf(instance uuid.UUID, node int, token int64) backend.SignalWait {
	key := backend.Key{Instance: instance, Run: graph.Run{Node: graph.NodeID(node), Path: "1,2"}}
	return backend.SignalWait{Lease: backend.Lease{Key: key, Token: token}, Attempt: 1, Name: "s \"é\""}
}

// Concurrent waits take each signal once, and keep it for each later call; a signal with a used id is none.
func signalsAreTakenOnce(r *rig) {
	store, instance := r.signaler(r.b), uuid.New()
	const n = 12
	first := uuid.New()
	for i := range n {
		sent := backend.Signal{ID: uuid.New(), Instance: instance, Name: "s \"é\"", Value: json.RawMessage(fmt.Sprint(i)), Keyed: true}
		if i == 0 {
			sent.ID = first
		}
		for _, want := range []bool{true, false} {
			if created, err := store.SendSignal(r.ctx, sent); err != nil || created != want {
				r.Errorf("signal %d is new: %t, %v", i, created, err)
			}
		}
	}
	var group sync.WaitGroup
	got := make([]string, n+1)
	for i := range got {
		other := r.signaler(r.reopen())
		group.Go(func() {
			w := waitOf(instance, i, 5)
			if err := other.StoreWait(r.ctx, w, 0, longLease); err != nil {
				r.Error(err)
			}
			for range 2 {
				after, _, stored, err := other.TakeSignal(r.ctx, w, longLease)
				if err != nil || !stored || got[i] != "" && got[i] != string(after.State)+string(after.Value) {
					r.Errorf("a wait that had %s came to %+v, %t, %v", got[i], after, stored, err)
				}
				got[i] = string(after.State) + string(after.Value)
			}
		})
	}
	group.Wait()
	slices.Sort(got)
	want := []string{"waiting"}
	for i := range n {
		want = append(want, "received"+fmt.Sprint(i))
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		r.Errorf("waits came to %v, want %v", got, want)
	}
	waits, sent, err := store.Signals(r.ctx, instance, 100)
	if r.must(err); len(waits) != n+1 || len(sent) != 0 {
		r.Errorf("there are %d waits and %d signals that nothing has taken", len(waits), len(sent))
	}
	r.must(store.RemoveWaits(r.ctx, waits))
	if created, err := store.SendSignal(r.ctx, backend.Signal{ID: first, Instance: instance, Name: "s \"é\"", Value: json.RawMessage("1"), Keyed: true}); err != nil || created {
		r.Errorf("a signal whose wait is over is sent again: new %t, %v", created, err)
	}
	r.must(store.RemoveSignals(r.ctx, []uuid.UUID{instance}))
	waits, _, err = store.Signals(r.ctx, instance, 100)
	if r.must(err); len(waits) != 0 {
		r.Errorf("%d waits are left of a removed instance", len(waits))
	}
}

// A returned signal is the oldest again, and wakes the waits for it; only the lease that has it returns it.
func signalsAreReturned(r *rig) {
	store, instance := r.signaler(r.b), uuid.New()
	one, two := waitOf(instance, 1, 10), waitOf(instance, 2, 11)
	for i := range 2 {
		_, err := store.SendSignal(r.ctx, backend.Signal{ID: uuid.New(), Instance: instance, Name: one.Name, Value: json.RawMessage(fmt.Sprint(i))})
		r.must(err)
	}
	takes := func(w backend.SignalWait, want string) {
		r.Helper()
		if after, _, stored, err := store.TakeSignal(r.ctx, w, longLease); err != nil || !stored || string(after.Value) != want {
			r.Errorf("a wait took %s, %t, %v; want %s", after.Value, stored, err, want)
		}
	}
	for _, w := range []backend.SignalWait{one, two} {
		r.must(store.StoreWait(r.ctx, w, 0, longLease))
	}
	takes(one, "0")
	_, err := store.ClaimWaits(r.ctx, 10, longLease) // notices both signals
	r.must(err)
	late := one
	late.Lease.Token--
	r.must(store.ReturnSignal(r.ctx, late))
	if _, sent, err := store.Signals(r.ctx, instance, 10); err != nil || len(sent) != 1 {
		r.Errorf("an older lease returned a signal: %d are there, %v", len(sent), err)
	}
	r.must(store.ReturnSignal(r.ctx, one))
	claimed, err := store.ClaimWaits(r.ctx, 10, longLease)
	if r.must(err); len(claimed.Waits) != 1 || claimed.Waits[0].Lease != two.Lease {
		r.Errorf("due are %+v, and not the wait for the returned signal", claimed.Waits)
	}
	takes(two, "0")
	if _, _, stored, err := store.TakeSignal(r.ctx, one, longLease); err != nil || stored {
		r.Errorf("a wait that has returned its signal is there: %v", err)
	}
}

// A signal makes its waits due, also one that comes while a wait is about to rest. Leases and attempts guard waits.
func signalsWakeWaits(r *rig) {
	store, instance := r.signaler(r.b), uuid.New()
	send := func(name string) {
		r.Helper()
		_, err := store.SendSignal(r.ctx, backend.Signal{ID: uuid.New(), Instance: instance, Name: name, Value: json.RawMessage("7")})
		r.must(err)
	}
	claims := func(want ...int64) {
		r.Helper()
		claimed, err := store.ClaimWaits(r.ctx, 10, longLease)
		r.must(err)
		var tokens []int64
		for _, w := range claimed.Waits {
			tokens = append(tokens, w.Lease.Token)
		}
		if slices.Sort(tokens); !slices.Equal(tokens, want) {
			r.Errorf("waits with tokens %v are due, want %v", tokens, want)
		}
	}
	rests := func(w backend.SignalWait, want bool) {
		r.Helper()
		if due, err := store.RestWait(r.ctx, w, longLease); err != nil || due != want {
			r.Errorf("a wait that is to rest is due: %t, %v; want %t", due, err, want)
		}
	}
	one, two := waitOf(instance, 1, 10), waitOf(instance, 2, 11)
	two.Name = "other"
	for _, w := range []backend.SignalWait{one, two} {
		r.must(store.StoreWait(r.ctx, w, time.Hour, longLease))
		rests(w, false)
	}
	claims()
	send("other")
	send("nobody waits for this")
	claims(11)
	rests(two, true)
	claims(11)

	late := one
	late.Lease.Token = 9
	r.must(store.StoreWait(r.ctx, late, 0, 0))
	if _, _, stored, err := store.TakeSignal(r.ctx, late, 0); err != nil || stored {
		r.Errorf("an older lease took a signal: %v", err)
	}
	claims()
	again := one
	again.Lease.Token, again.Attempt = 12, 2
	r.must(store.StoreWait(r.ctx, again, time.Microsecond, longLease))
	pause(r.ctx, time.Millisecond, r.Advance)
	for range 2 { // it stays timed out when a signal comes
		after, now, stored, err := store.TakeSignal(r.ctx, again, longLease)
		if err != nil || !stored || after.State != backend.TimedOut || now.Before(after.Deadline) || after.Since.After(after.Deadline) {
			r.Errorf("at %v it came to %+v, %t, %v", now, after, stored, err)
		}
		send(one.Name)
	}
}

// MakeDue lets a claim have what was returned with a pause, and nothing that is leased, and says what is over.
func runsAreMadeDue(r *rig) {
	store := r.signaler(r.reopen())
	task := r.submitOne(single, `{"v": 1}`, grant(1))
	key := task.Lease.Key
	absent := backend.Key{Instance: key.Instance, Run: graph.Run{Node: key.Run.Node, Path: "9"}}
	makeDue := func(open, rests bool) {
		r.Helper()
		got, err := store.MakeDue(r.ctx, 0, []backend.Key{absent, key, {Instance: uuid.New()}})
		if rests && len(got) == 3 { // then a store may not know which node runs there are
			got[0] = false
		}
		if err != nil || !slices.Equal(got, []bool{false, open, false}) {
			r.Fatalf("open are %v, %v", got, err)
		}
	}
	makeDue(true, false)
	if got := r.claim(0, grant(1)).Tasks; len(got) > 0 {
		r.Error("what is leased was made due")
	}
	if !r.renew(backend.Grant{Owner: "suite", Pause: time.Hour}, task.Lease)[0] {
		r.Fatal("the lease was lost")
	}
	if got := r.claim(0, grant(1)).Tasks; len(got) > 0 {
		r.Error("a node run was leased before its pause was over")
	}
	makeDue(true, true)
	got := r.eventually(grant(1))
	r.applied(grant(0), done(r.delivered(got[0], 1, 1), `1`))
	makeDue(false, false)
}
