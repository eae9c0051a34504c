package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/memory"
	"pulley/engine/ir"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

const pipelineSource = `fn main(input: [fan_out, loop_iters], output: [total]):
    items = @fetch_items(count=fan_out)
    processed = spread items:item -> @process_item(item=item)
    size = len(processed) // loop_iters
    results = []
    for chunk_id in range(loop_iters):
        chunk = processed[chunk_id * size:(chunk_id + 1) * size]
        valid = @validate_chunk(chunk_id=chunk_id, items=chunk)
        r = @aggregate_chunk(chunk_id=chunk_id, items=chunk, is_valid=valid)
        results = results + [r]
    total = @finalize(results=results)
    return total
`

func TestProgramsRun(t *testing.T) {
	for _, batch := range []int{0, 1} {
		for _, shards := range []int{1, 4} {
			log := newLedger()
			e := start(t, Config{Backend: memoryBackend(t, shards), Batch: batch, Observer: log.observer()})
			wantResult(t, run(t, e, chain(t, 20), `{"x": 1}`), "21")
			wantResult(t, run(t, e, fanOut(t), `{"count": 300}`), "89700")
			wantResult(t, run(t, e, fanOut(t), `{"count": 0}`), "0")
			wantResult(t, run(t, e, compile(t, pipelineSource), `{"fan_out": 8, "loop_iters": 4}`), "270") // the first chunk's score of 0 counts nothing
			seen := log.close(t, e)
			seen.check(t)
			if batch == 1 && seen.biggest != 1 {
				t.Errorf("a batch of one committed %d together", seen.biggest)
			}
			if len(seen.problems) > 0 || len(seen.ended) != 4 || seen.submits != 4 {
				t.Errorf("problems %v, %d ended, %d submitted", seen.problems, len(seen.ended), seen.submits)
			}
		}
	}
}

func TestManyInstancesShareTransactions(t *testing.T) {
	log := newLedger()
	e := start(t, Config{Backend: memoryBackend(t, 3), Slots: 16, Queue: 50, Observer: log.observer()})
	p := chain(t, 5)
	reqs := make([]SubmitRequest, 400)
	for i := range reqs {
		reqs[i] = SubmitRequest{Program: p, Input: json.RawMessage(`{"x": 0}`)}
	}
	ids, err := e.SubmitAll(t.Context(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		inst, err := e.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, inst, "5")
	}
	seen := log.close(t, e)
	seen.check(t)
	if seen.biggest < 2 {
		t.Error("no two completions ever shared a transaction")
	}
}

func TestFailureEndsTheInstance(t *testing.T) {
	e := start(t, Config{Backend: memoryBackend(t, 1), Workers: registry(t, map[string]worker.Func{
		"goexit": func(context.Context, worker.Call) (any, error) { runtime.Goexit(); return nil, nil },
	})})
	for action, want := range map[string]string{
		`fail(type="Declined", message="no")`: "Declined: no",
		`add(a=1)`:                            "ArgumentError: action add: argument b is missing",
		`nowhere()`:                           "UnknownAction: unknown action @nowhere; register it, or write one of those that are",
		`goexit()`:                            "Panic: action goexit ended its goroutine instead of returning",
	} {
		inst := run(t, e, compile(t, "fn main(input: [], output: [x]):\n    x = @"+action+"\n    return x\n"), `{}`)
		if inst.Status != backend.Failed || inst.Failure.Type+": "+inst.Failure.Message != want {
			t.Errorf("@%s: %s %+v, want %s", action, inst.Status, inst.Failure, want)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	e := start(t, Config{Backend: memoryBackend(t, 1), CheckActions: true})
	for name, c := range map[string]struct {
		req  SubmitRequest
		want string
	}{
		"no program":     {SubmitRequest{}, "needs a Program"},
		"unknown action": {SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @ad(a=1, b=2)\n    return x\n")}, "test.ir:2:9: unknown action @ad; did you mean @add?"},
		"wrong input":    {SubmitRequest{Program: chain(t, 1), Input: json.RawMessage(`{"y": 1}`)}, "instance refused: "},
	} {
		_, err := e.Submit(t.Context(), c.req)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ids, err := e.SubmitAll(t.Context(), []SubmitRequest{{}, {Program: chain(t, 1), Input: json.RawMessage(`{"x": 1}`)}})
	if err == nil || !strings.Contains(err.Error(), "submission 0: ") || ids[0] != uuid.Nil {
		t.Errorf("%v, %v", ids, err)
	}
	if inst, err := e.Wait(t.Context(), ids[1]); err != nil || string(inst.Result) != "2" {
		t.Errorf("%+v, %v", inst, err)
	}
	var at *ir.Error
	if _, err := e.Submit(t.Context(), SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @ad(a=1)\n    return x\n")}); !errors.As(err, &at) {
		t.Errorf("no position in %v", err)
	}
}

func TestTheSameIDTwiceIsOneInstance(t *testing.T) {
	log := newLedger()
	e := start(t, Config{Backend: memoryBackend(t, 1), Observer: log.observer()})
	req := SubmitRequest{ID: uuid.New(), Program: chain(t, 1), Input: json.RawMessage(`{"x": 1}`)}
	for range 3 {
		if id, err := e.Submit(t.Context(), req); err != nil || id != req.ID {
			t.Fatal(id, err)
		}
		if inst, err := e.Wait(t.Context(), req.ID); err != nil || string(inst.Result) != "2" {
			t.Fatal(inst, err)
		}
	}
	if seen := log.close(t, e); seen.submits != 1 || len(seen.started) != 1 {
		t.Errorf("%d stored, %d started", seen.submits, len(seen.started))
	}
}

func TestLifeCycle(t *testing.T) {
	b := memoryBackend(t, 1)
	cfg := Config{Backend: b, Workers: registry(t, nil)}
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), SubmitRequest{Program: chain(t, 1)}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("submit before start: %v", err)
	}
	if _, err := e.Wait(t.Context(), uuid.New()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("wait before start: %v", err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("second start: %v", err)
	}
	for range 2 {
		if err := e.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	<-e.Done()
	if e.Err() != nil {
		t.Error(e.Err())
	}
	if _, err := e.Submit(t.Context(), SubmitRequest{Program: chain(t, 1)}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("submit after stop: %v", err)
	}

	never, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := never.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	<-never.Done()
	if err := never.Start(t.Context()); !errors.Is(err, ErrStarted) {
		t.Errorf("start after stop: %v", err)
	}
}

func TestStartsContextEndsTheEngine(t *testing.T) {
	e, err := New(Config{Backend: memoryBackend(t, 1), Workers: registry(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(t.Context())
	if err := e.Start(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(cause)
	<-e.Done()
	if !errors.Is(e.Err(), cause) {
		t.Errorf("the cause is %v", e.Err())
	}
}

func TestConfigReportsEverythingThatIsWrong(t *testing.T) {
	_, err := New(Config{Slots: -1, Batch: 20_000, Lease: time.Millisecond, RetryMin: time.Second, RetryMax: time.Millisecond, Poll: 2 * time.Hour})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"Backend is not set", "Workers is not set", "Slots is -1, must be from 1 to 100000", "Batch is 20000, must be from 1 to 10000",
		"Lease is 1ms, must be from 30ms to 1h0m0s", "RetryMax is 1ms, must be from 1s to 1h0m0s", "Poll is 2h0m0s",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	for _, right := range []string{"Prefetch", "Queue", "Sweep", "Drain"} {
		if strings.Contains(err.Error(), right+" is") {
			t.Errorf("%s has its default: %v", right, err)
		}
	}
}

func TestWait(t *testing.T) {
	b := memoryBackend(t, 1)
	one := start(t, Config{Backend: b, Workers: registry(t, nil)})
	if _, err := one.Wait(t.Context(), uuid.New()); !errors.Is(err, ErrUnknownInstance) {
		t.Errorf("unknown instance: %v", err)
	}
	inst := run(t, one, chain(t, 1), `{"x": 1}`)
	again, err := one.Wait(t.Context(), inst.ID)
	if err != nil || string(again.Result) != "2" {
		t.Errorf("%+v, %v", again, err)
	}
	two := start(t, Config{Backend: b.Open(memory.Options{}), Workers: registry(t, nil)})
	other, err := two.Wait(t.Context(), inst.ID)
	if err != nil || string(other.Result) != "2" {
		t.Errorf("%+v, %v", other, err)
	}

	release := make(chan struct{})
	slow := start(t, Config{Backend: memoryBackend(t, 1), Workers: registry(t, map[string]worker.Func{
		"wait": func(ctx context.Context, _ worker.Call) (any, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, ctx.Err()
		},
	})})
	id, err := slow.Submit(t.Context(), SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @wait()\n    return x\n")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := slow.Wait(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: %v", err)
	}
	close(release)
	if inst, err := slow.Wait(t.Context(), id); err != nil || string(inst.Result) != "null" {
		t.Errorf("%+v, %v", inst, err)
	}
}

func TestWaitHearsOfWhatOthersEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memoryBackend(t, 1)
		watcher := start(t, Config{Backend: b, Prefetch: -1, Slots: 1, Poll: time.Hour, Workers: registry(t, nil)})
		busy := make(chan backend.Instance, 1)
		id, err := watcher.Submit(t.Context(), SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @sleep(ms=100000)\n    return x\n")})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			inst, err := watcher.Wait(t.Context(), id)
			if err != nil {
				t.Error(err)
			}
			busy <- inst
		}()
		worker := start(t, Config{Backend: b.Open(memory.Options{}), Workers: registry(t, nil)})
		inst := run(t, worker, chain(t, 3), `{"x": 1}`)
		got, err := watcher.Wait(t.Context(), inst.ID)
		if err != nil || string(got.Result) != "4" {
			t.Errorf("%+v, %v", got, err)
		}
		wantResult(t, <-busy, "null")
	})
}

func TestLeaseIsKeptWhileAnActionRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memoryBackend(t, 1)
		log := newLedger()
		long := compile(t, "fn main(input: [], output: [x]):\n    x = @sleep(ms=600000)\n    return x\n")
		one := start(t, Config{Backend: b, Lease: 10 * time.Second, Observer: log.observer()})
		two := start(t, Config{Backend: b.Open(memory.Options{}), Lease: 10 * time.Second, Observer: log.observer()})
		synctest.Wait() // both have claimed, and found nothing
		begun := time.Now()
		id, err := one.Submit(t.Context(), SubmitRequest{Program: long})
		if err != nil {
			t.Fatal(err)
		}
		inst, err := one.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, inst, "null")
		if took := time.Since(begun); took != 10*time.Minute {
			t.Errorf("it took %v", took)
		}
		seen := log.close(t, one, two)
		seen.check(t)
		if len(seen.started) != 1 {
			t.Errorf("it was started %d times", len(seen.started))
		}
	})
}

func TestStopHandsOverToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memoryBackend(t, 1)
		cancelled := make(chan error, 16)
		var stuck atomic.Bool
		stuck.Store(true)
		actions := map[string]worker.Func{"work": func(ctx context.Context, _ worker.Call) (any, error) {
			if !stuck.Load() {
				return 1, nil
			}
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return nil, ctx.Err()
		}}
		p := compile(t, "fn main(input: [], output: [x]):\n    all = spread range(6):i -> @work(i=i)\n    return sum(all)\n")
		one := start(t, Config{Backend: b, Slots: 2, Prefetch: 1, Lease: time.Hour, Drain: 5 * time.Second, Workers: registry(t, actions)})
		id, err := one.Submit(t.Context(), SubmitRequest{Program: p})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		begun := time.Now()
		if err := one.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if len(cancelled) != 2 {
			t.Errorf("%d running actions were cancelled, not 2", len(cancelled))
		}
		if cause := <-cancelled; !strings.Contains(cause.Error(), "stopping") {
			t.Errorf("the cause is %v", cause)
		}
		stuck.Store(false)
		two := start(t, Config{Backend: b.Open(memory.Options{}), Lease: time.Hour, Workers: registry(t, actions)})
		inst, err := two.Wait(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantResult(t, inst, "6")
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("others got the work after %v: it was not handed back", took)
		}
	})
}

func TestStopDoesNotWaitForeverForAnAction(t *testing.T) {
	release := make(chan struct{})
	begun := make(chan struct{})
	e, err := New(Config{Backend: memoryBackend(t, 1), Workers: registry(t, map[string]worker.Func{
		"deaf": func(context.Context, worker.Call) (any, error) { close(begun); <-release; return nil, nil },
	})})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Submit(t.Context(), SubmitRequest{Program: compile(t, "fn main(input: [], output: [x]):\n    x = @deaf()\n    return x\n")}); err != nil {
		t.Fatal(err)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Stop(ctx); err == nil || !strings.Contains(err.Error(), "still stopping") {
		t.Errorf("%v", err)
	}
	close(release)
	<-e.Done()
	if err := e.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSubmitWaitsForRoomAndGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &troubled{Backend: memoryBackend(t, 1), rand: rand.New(rand.NewPCG(1, 1))}
		e := start(t, Config{Backend: b, Queue: 1})
		b.breakDown()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := chain(t, 1)
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := e.Submit(ctx, SubmitRequest{Program: p, Input: json.RawMessage(`{"x": 1}`)})
				errs <- err
			}()
		}
		var texts []string
		for range 2 {
			err := <-errs
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			texts = append(texts, err.Error())
		}
		all := strings.Join(texts, "; ")
		if !strings.Contains(all, "it is not known whether") || !strings.Contains(all, "was not submitted") {
			t.Error(all)
		}
		b.mu.Lock()
		b.broken = false
		b.mu.Unlock()
		wantResult(t, run(t, e, p, `{"x": 1}`), "2")
	})
}

// A node run that waits for a poll, a pause or a linger would advance the virtual clock: the store answers instantly.
func TestNoTimerIsOnThePath(t *testing.T) {
	for _, cfg := range []Config{
		{}, {Batch: 1}, {Batch: 3, Committers: 1}, {Prefetch: -1, Slots: 1}, {Prefetch: 1, Slots: 5, Pending: 1}, {Slots: 8, Committers: 2, Queue: 7},
	} {
		for _, shards := range []int{1, 5} {
			synctest.Test(t, func(t *testing.T) {
				log := newLedger()
				cfg.Backend, cfg.Observer = memoryBackend(t, shards), log.observer()
				e := start(t, cfg)
				synctest.Wait()
				begun := time.Now()
				p, f := chain(t, 10), fanOut(t)
				var reqs []SubmitRequest
				for range depth.Of(10, 80) {
					reqs = append(reqs,
						SubmitRequest{Program: p, Input: json.RawMessage(`{"x": 0}`)},
						SubmitRequest{Program: f, Input: json.RawMessage(`{"count": 30}`)})
				}
				ids, err := e.SubmitAll(t.Context(), reqs)
				if err != nil {
					t.Fatal(err)
				}
				for _, id := range ids {
					if inst, err := e.Wait(t.Context(), id); err != nil || inst.Status != backend.Completed {
						t.Fatal(inst, err)
					}
				}
				if took := time.Since(begun); took != 0 {
					t.Errorf("%d shards, %+v: it waited for %v", shards, cfg, took)
				}
				log.close(t, e).check(t)
			})
		}
	}
}
