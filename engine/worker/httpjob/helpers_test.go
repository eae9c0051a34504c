package httpjob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"pulley/engine/worker"
	"pulley/engine/worker/httpjob/jobserver"
)

// pipes is an in-memory network of one host, so that time may be virtual.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.done:
	case <-ctx.Done():
	}
	return nil, &net.OpError{Op: "dial", Err: errors.New("nobody listens")}
}

type bench struct {
	*testing.T
	server *jobserver.Server
	jobs   *Jobs
	dial   Dialect
	logged []string
	mu     sync.Mutex
}

const runJob = "projects/p/locations/l/jobs/j"

func dialects(t *testing.T, sc jobserver.Config, change func(*Config), test func(*bench)) {
	t.Helper()
	for _, d := range []Dialect{Plain, CloudRun} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			virtual(t, d, sc, change, test)
		})
	}
}

func virtual(t *testing.T, d Dialect, sc jobserver.Config, change func(*Config), test func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := jobserver.New(sc)
		against(t, d, server, change, func(b *bench) {
			b.server = server
			test(b)
		})
	})
}

func against(t *testing.T, d Dialect, handler http.Handler, change func(*Config), test func(*bench)) {
	t.Helper()
	network := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	hs := &http.Server{Handler: handler}
	go func() { _ = hs.Serve(network) }() // ends by Close
	transport := &http.Transport{DialContext: network.dial, MaxIdleConnsPerHost: 64}
	b := &bench{T: t, dial: d}
	c := Config{Dialect: d, URL: "http://jobs.test/jobs", Transport: transport, Log: func(line string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.logged = append(b.logged, line)
	}}
	if d == CloudRun {
		c.URL = "http://jobs.test"
	}
	if change != nil {
		change(&c)
	}
	jobs, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b.jobs = jobs
	defer func() {
		if err := jobs.Close(context.Background()); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
		_ = hs.Close()
		synctest.Wait()
	}()
	test(b)
}

func (b *bench) action(j Job) worker.Func {
	b.Helper()
	if b.dial == CloudRun && j.Name == "" {
		j.Name = runJob
	}
	if b.dial == CloudRun && j.Overrides.ResultURL == "" {
		j.Overrides.ResultURL = "http://jobs.test/results/${pulley.key}"
	}
	f, err := b.jobs.Func(j)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

func newCall(args string) worker.Call {
	return worker.Call{Instance: uuid.New(), Node: "n", Path: "3", Action: "act", Attempt: 1, Args: json.RawMessage(args)}
}

func ended(value any, err error) string {
	var typed *worker.Error
	switch {
	case errors.As(err, &typed):
		return typed.Type + ": " + typed.Message
	case err != nil:
		return "error: " + err.Error()
	}
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// wants checks that an attempt's end begins with want.
func (b *bench) wants(call worker.Call, f worker.Func, want string) {
	b.Helper()
	if got := ended(f(b.Context(), call)); !strings.HasPrefix(got, want) {
		b.Errorf("the attempt ends with %s\nwant %s", got, want)
	}
}

func (b *bench) startedOnce(n int) {
	b.Helper()
	starts := b.server.Starts()
	for key, times := range starts {
		if times != 1 {
			b.Errorf("%s was started %d times", key, times)
		}
	}
	if len(starts) != n {
		b.Errorf("%d jobs were started, want %d", len(starts), n)
	}
}

func (b *bench) cancels() (n int) {
	for _, times := range b.server.Cancels() {
		n += times
	}
	return n
}

// The argument kind selects a job's behaviour.
func behaving(kinds map[string]jobserver.Behaviour) func(jobserver.Start) jobserver.Behaviour {
	return func(s jobserver.Start) jobserver.Behaviour {
		var args struct{ Kind string }
		if err := json.Unmarshal(s.Args, &args); err != nil {
			return jobserver.Behaviour{Fails: true, Message: err.Error()}
		}
		return kinds[args.Kind]
	}
}

type scripted struct {
	mu      sync.Mutex
	answers []func(http.ResponseWriter, *http.Request)
	seen    []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body))
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	s.mu.Unlock()
	answer(w, r)
}

func says(status int, body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const second = time.Second

func synctestAgainst(t *testing.T, d Dialect, handler http.Handler, test func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { against(t, d, handler, nil, test) })
}

func newTCP(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
