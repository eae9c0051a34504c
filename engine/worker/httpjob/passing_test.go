package httpjob

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine/dispatch"
	"pulley/engine/worker/httpjob/jobserver"
)

// Many attempts are deferred for the same time, at their start and at a poll: they must not return at once.
func TestRetryAfterSpreads(t *testing.T) {
	t.Parallel()
	const many = 50
	for name, c := range map[string]struct {
		first       func(http.ResponseWriter, *http.Request)
		least, most time.Duration
	}{
		"of a start": {says(429, "", "Retry-After", "20"), 20 * second, 20*second + 200*time.Millisecond},
		"of a look":  {says(201, running, "Retry-After", "20"), 20 * second, 20*second + 500*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			requests := 0
			back := map[time.Duration]int{}
			var begun time.Time
			synctestAgainst(t, Plain, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				requests++
				isFirst := requests <= many
				if !isFirst {
					back[time.Since(begun)]++
				}
				mu.Unlock()
				if isFirst {
					c.first(w, r)
					return
				}
				says(200, done)(w, r)
			}), func(b *bench) {
				begun = time.Now()
				f := b.action(Job{})
				var all sync.WaitGroup
				for range many {
					all.Go(func() { b.wants(newCall(`{}`), f, "1") })
				}
				all.Wait()
			})
			if len(back) < many/2 {
				t.Errorf("%d attempts came back at %d moments", many, len(back))
			}
			for after := range back {
				if after < c.least || after > c.most {
					t.Errorf("one came back after %v, want %v to %v", after, c.least, c.most)
				}
			}
		})
	}
}

// A start is served whose answer is lost, or whose delivery has ended, and later starts are refused: the started job must be
// found and cancelled.
func TestRefusedAfterALostStart(t *testing.T) {
	t.Parallel()
	sc := jobserver.Config{Behave: func(jobserver.Start) jobserver.Behaviour { return jobserver.Behaviour{Never: true} }}
	for name, earlier := range map[string]bool{"of this delivery": false, "of an earlier delivery": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			virtual(t, Plain, sc, nil, func(b *bench) {
				f, call := b.action(Job{}), newCall(`{}`)
				if call.Delivery = 1; earlier {
					ctx, cancel := context.WithTimeoutCause(b.Context(), second, dispatch.ErrLeaseLost)
					defer cancel()
					if got := ended(f(ctx, call)); got != "error: lease lost" {
						b.Errorf("the first delivery ends with %s", got)
					}
					call.Delivery = 2
				}
				handler, starts := b.jobs.client.http.Transport, 0
				b.jobs.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("Idempotency-Key") == "" {
						return handler.RoundTrip(r)
					}
					if starts++; earlier || starts > 1 {
						return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}}, nil
					}
					response, err := handler.RoundTrip(r)
					if err == nil {
						err = errors.Join(errors.New("the connection broke"), response.Body.Close())
					}
					return nil, err
				})
				b.wants(call, f, "HTTPError: POST http://jobs.test/jobs: 403 Forbidden")
				if err := b.jobs.Close(context.Background()); err != nil {
					b.Error(err)
				}
				if b.startedOnce(1); b.cancels() != 1 {
					b.Errorf("%d jobs were cancelled, told were %q", b.cancels(), b.logged)
				}
			})
		})
	}
}

// The attempt's starts were never served. The executor must poll for as long as a job may take to appear, and report no job
// that may continue.
func TestNothingToCancel(t *testing.T) {
	t.Parallel()
	dialects(t, jobserver.Config{}, nil, func(b *bench) {
		handler := b.jobs.client.http.Transport
		b.jobs.client.http.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, ":run") || r.Header.Get("Idempotency-Key") != "" {
				return nil, errors.New("the connection broke")
			}
			return handler.RoundTrip(r)
		})
		b.wants(newCall(`{}`), b.action(Job{Limit: 500 * time.Millisecond}), "Timeout: ")
		if err := b.jobs.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if b.startedOnce(0); len(b.logged) > 0 {
			b.Errorf("told were %q", b.logged)
		}
	})
}

// An attempt ends before its operation names the execution that it starts: that execution must be cancelled.
func TestCancelOfAnOperation(t *testing.T) {
	t.Parallel()
	const op = `{"name": "projects/p/locations/l/operations/o"`
	script := &scripted{answers: []func(http.ResponseWriter, *http.Request){
		says(200, `{}`), says(200, op+`}`), says(200, op+`}`), says(200, op+`}`), // listed, started, polled, and polled again to cancel it
		says(200, op+`, "metadata": {"name": "`+runJob+`/executions/e"}}`), says(200, `{}`),
	}}
	synctestAgainst(t, CloudRun, script, func(b *bench) {
		b.wants(newCall(`{}`), b.action(Job{Limit: 2900 * time.Millisecond}), "Timeout: ")
		if err := b.jobs.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if last := script.seen[len(script.seen)-1]; last != "POST /v2/"+runJob+"/executions/e:cancel {}" || len(b.logged) > 0 {
			b.Errorf("the requests were %q, told were %q", script.seen, b.logged)
		}
	})
}

// Servers with untrusted certificates or none are a permanent error, which says what to do.
func TestNoTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(says(200, done)))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	for address, want := range map[string]string{
		server.URL: "Unavailable: POST " + server.URL + ": tls: failed to verify certificate: ",
		strings.Replace(newTCP(t, http.HandlerFunc(says(200, done))), "http:", "https:", 1): "does not speak TLS; write http:// in the URL",
	} {
		jobs, err := New(Config{URL: address})
		if err != nil {
			t.Fatal(err)
		}
		f, err := jobs.Func(Job{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // far less than Config.GraceTime
		defer cancel()
		got := ended(f(ctx, newCall(`{}`)))
		if !strings.Contains(got, want) || strings.Contains(want, "verify") && !strings.Contains(got, "SSL_CERT_FILE") {
			t.Errorf("it ends with %s\nwant %s", got, want)
		}
		if err := jobs.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
