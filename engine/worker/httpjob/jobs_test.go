package httpjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pulley/engine/dispatch"
	"pulley/engine/worker"
	"pulley/engine/worker/httpjob/jobserver"
	"pulley/internal/depth"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	sc := jobserver.Config{Behave: behaving(map[string]jobserver.Behaviour{
		"good":    {After: 9 * second, Result: json.RawMessage(`{"n": 1}`)},
		"at once": {Result: json.RawMessage(`null`)},
		"typed":   {After: second, Fails: true, Type: "Declined", Message: "no money"},
		"failed":  {After: second, Fails: true},
		"nothing": {After: second},
	})}
	dialects(t, sc, nil, func(b *bench) {
		f := b.action(Job{})
		failed := map[Dialect]string{Plain: "JobFailed: the job says no more", CloudRun: "JobFailed: Task failed: exit status 1 (of 1 tasks"}
		b.wants(newCall(`{"kind": "good"}`), f, `{"n":1}`)
		b.wants(newCall(`{"kind": "at once"}`), f, `null`)
		b.wants(newCall(`{"kind": "typed"}`), f, "Declined: no money")
		b.wants(newCall(`{"kind": "failed"}`), f, failed[b.dial])
		b.wants(newCall(`{"kind": "nothing"}`), f, "ResultError: the job succeeded, and ")
		b.startedOnce(5)
		if n := b.cancels(); n != 0 || len(b.logged) > 0 {
			b.Errorf("%d jobs were cancelled, told were %q", n, b.logged)
		}
	})
}

// Every fault of a server occurs, alone and together, at a rate that no program survives by luck.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]jobserver.Faults{
		"errors":       {Errors: 0.4},
		"errors after": {ErrorsAfter: 0.4},
		"lost replies": {Lost: 0.4},
		"throttled":    {Throttled: 0.4, RetryAfter: 7 * second},
		"slow":         {SlowBefore: 0.2, SlowAfter: 0.2, SlowTime: 3 * second},
		"too slow":     {SlowAfter: 0.3, SlowTime: 40 * second}, // than RequestTimeout
		"all": {
			Errors: 0.1, ErrorsAfter: 0.1, Lost: 0.2, Throttled: 0.1, RetryAfter: 3 * second,
			SlowBefore: 0.1, SlowAfter: 0.1, SlowTime: 2 * second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := jobserver.Config{Seed: 17, Faults: faults, ListLag: 4 * second, Behave: func(s jobserver.Start) jobserver.Behaviour {
				return jobserver.Behaviour{After: 5 * second, Result: s.Args}
			}}
			patient := func(c *Config) { c.GraceTime = 2 * time.Hour }
			dialects(t, sc, patient, func(b *bench) {
				const many = 60
				f := b.action(Job{})
				var all sync.WaitGroup
				for i := range many {
					all.Go(func() {
						args := fmt.Sprintf(`{"i":%d}`, i)
						b.wants(newCall(args), f, args)
					})
				}
				all.Wait()
				b.startedOnce(many)
			})
		})
	}
}

// Attempts end midway, as in engines that stop or lose a lease, and are delivered again.
func TestAnotherDeliveryFindsTheJob(t *testing.T) {
	t.Parallel()
	sc := jobserver.Config{
		Seed: 3, Faults: jobserver.Faults{Lost: 0.3, ErrorsAfter: 0.1},
		Behave: func(s jobserver.Start) jobserver.Behaviour {
			return jobserver.Behaviour{After: 40 * second, Result: s.Args}
		},
	}
	dialects(t, sc, nil, func(b *bench) {
		f := b.action(Job{})
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				call := newCall(fmt.Sprintf(`{"i":%d}`, i))
				for _, cause := range []error{dispatch.ErrStopped, fmt.Errorf("x: %w", dispatch.ErrLeaseLost), dispatch.ErrStopped} {
					ctx, cancel := context.WithCancelCause(b.Context())
					time.AfterFunc(time.Duration(i)*400*time.Millisecond, func() { cancel(cause) })
					if got := ended(f(ctx, call)); !strings.HasPrefix(got, "error: ") {
						b.Errorf("an attempt that had to end gives %s", got)
					}
				}
				b.wants(call, f, string(call.Args))
				call.Attempt++
				b.wants(call, f, string(call.Args))
			})
		}
		all.Wait()
		b.startedOnce(40)
		if n := b.cancels(); n != 0 {
			b.Errorf("%d jobs were cancelled", n)
		}
	})
}

func TestEndsOfAttempts(t *testing.T) {
	t.Parallel()
	never := jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} }}
	timeout := &worker.Error{Type: worker.TypeTimeout, Message: "too long"}
	for name, c := range map[string]struct {
		cause   error
		job     Job
		want    string
		cancels int
	}{
		"timeout":        {cause: timeout, want: "Timeout: too long", cancels: 1},
		"instance ended": {cause: dispatch.ErrInstanceEnded, want: "error: instance ended", cancels: 1},
		"lease lost":     {cause: dispatch.ErrLeaseLost, want: "error: lease lost"},
		"engine stops":   {cause: dispatch.ErrStopped, want: "error: engine is stopping"},
		"limit":          {job: Job{Limit: 5 * second}, want: "Timeout: the job took longer than its limit of 5s", cancels: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dialects(t, never, nil, func(b *bench) {
				ctx, cancel := context.WithCancelCause(b.Context())
				defer cancel(nil)
				if c.cause != nil {
					time.AfterFunc(5*second, func() { cancel(c.cause) })
				}
				begun := time.Now()
				if got := ended(b.action(c.job)(ctx, newCall(`{}`))); !strings.HasPrefix(got, c.want) {
					b.Errorf("it ends with %s, want %s", got, c.want)
				}
				if took := time.Since(begun); took != 5*second {
					b.Errorf("it ends after %v, want 5s: cancelling is no part of it", took)
				}
				if err := b.jobs.Close(context.Background()); err != nil {
					b.Error(err)
				}
				if n := b.cancels(); n != c.cancels {
					b.Errorf("%d jobs were cancelled, want %d; told were %q", n, c.cancels, b.logged)
				}
			})
		})
	}
}

// The start of the ended attempt was never answered: its job must be found and cancelled.
func TestLostStartIsCancelled(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{
		ListLag: second, Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} },
	}, nil, func(b *bench) {
		handler := b.jobs.client.http.Transport
		b.jobs.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := handler.RoundTrip(r)
			if err == nil && (strings.HasSuffix(r.URL.Path, ":run") || r.Header.Get("Idempotency-Key") != "") {
				response.Body.Close()
				return nil, errors.New("the connection broke")
			}
			return response, err
		})
		b.wants(newCall(`{}`), b.action(Job{Limit: 500 * time.Millisecond}), "Timeout: ")
		if err := b.jobs.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if b.startedOnce(1); b.cancels() != 1 {
			b.Errorf("%d jobs were cancelled, told were %q", b.cancels(), b.logged)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The server does not answer cancellations: Close must report it, and return.
func TestCancelEnds(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} }}, nil, func(b *bench) {
		handler := b.jobs.client.http.Transport
		b.jobs.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "cancel") {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			return handler.RoundTrip(r)
		})
		b.wants(newCall(`{}`), b.action(Job{Limit: 5 * second}), "Timeout: ")
		begun := time.Now()
		ctx, cancel := context.WithTimeout(b.Context(), 3*second)
		defer cancel()
		if err := b.jobs.Close(ctx); err == nil || time.Since(begun) != 3*second {
			b.Errorf("Close ends after %v with %v", time.Since(begun), err)
		}
		if len(b.logged) != 1 || !strings.Contains(b.logged[0], "could not be cancelled, and may continue: ") {
			b.Errorf("told were %q", b.logged)
		}
	})
}

func TestJobsThatOthersEnd(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} }}, nil, func(b *bench) {
		f := b.action(Job{})
		time.AfterFunc(9*second, func() {
			target := "http://jobs.test/jobs/" + "job%2F1/cancel"
			if b.dial == CloudRun {
				target = "http://jobs.test/v2/" + runJob + "/executions/j-00001:cancel"
			}
			r, _ := http.NewRequest(http.MethodPost, target, nil)
			if response, err := b.jobs.client.http.Do(r); err != nil || response.Body.Close() != nil || response.StatusCode != 200 {
				b.Errorf("%v, %v", response, err)
			}
		})
		b.wants(newCall(`{}`), f, "JobCancelled: ")
	})
}

func TestAtOnce(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: 10 * second, Result: json.RawMessage("1")}
	}}, nil, func(b *bench) {
		f := b.action(Job{AtOnce: 3})
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() { b.wants(newCall(`{}`), f, "1") })
		}
		for range 20 {
			time.Sleep(2 * second)
			synctest.Wait()
			if n := b.server.Active(); n > 3 {
				b.Errorf("%d jobs run at once", n)
			}
		}
		all.Wait()
		b.startedOnce(9)
	})
}

// Each of many jobs may be polled at most every two seconds.
func TestPolling(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour {
		return jobserver.Behaviour{After: time.Minute, Result: json.RawMessage("1")}
	}}, nil, func(b *bench) {
		f := b.action(Job{})
		begun := time.Now()
		var all sync.WaitGroup
		many := depth.Of(50, 1000)
		for range many {
			all.Go(func() { b.wants(newCall(`{}`), f, "1") })
		}
		all.Wait()
		b.startedOnce(many)
		if took := time.Since(begun); took < time.Minute || took > 63*second {
			b.Errorf("the jobs of a minute took %v", took)
		}
		if n := b.server.Requests(); n < 28*many || n > 36*many {
			b.Errorf("%d requests for %d jobs of 30 looks each", n, many)
		}
	})
}
