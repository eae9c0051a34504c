package adapter_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// fake is a system in memory. Submit answers at once, and instances are executed in the background.
type fake struct {
	hello     protocol.Hello
	configure func(*adapter.Env) (protocol.Promises, error)
	create    func() error
	open      func(*adapter.Env) error
	submit    func(context.Context, []protocol.Instance) error
	close     func(context.Context) error
	attempts  bool // whether it tells attempts

	ctx     context.Context
	env     *adapter.Env
	session adapter.Session
	work    sync.WaitGroup

	mu   sync.Mutex
	ends map[string]string
}

func (f *fake) Describe() protocol.Hello {
	f.hello.Name, f.hello.System, f.hello.SystemVersion = "fake", "memory", "1"
	f.hello.Shapes = []protocol.Shape{protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries}
	f.ends = map[string]string{}
	return f.hello
}

func (f *fake) Configure(env *adapter.Env) (protocol.Promises, error) {
	if f.configure == nil {
		return f.hello.Promises, nil
	}
	return f.configure(env)
}

func (f *fake) Create(context.Context, *adapter.Env) error {
	if f.create == nil {
		return nil
	}
	return f.create()
}

func (f *fake) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (adapter.Running, error) {
	f.ctx, f.env, f.session = ctx, env, session
	if f.open == nil {
		return f, nil
	}
	return f, f.open(env)
}

func (f *fake) Submit(ctx context.Context, instances []protocol.Instance) error {
	if f.submit != nil {
		return f.submit(ctx, instances)
	}
	for _, i := range instances {
		f.work.Go(func() { f.run(i) })
	}
	return nil
}

// run executes an instance's rounds and tasks one after another.
func (f *fake) run(i protocol.Instance) {
	w := f.env.Workloads[i.Workload]
	values := map[string]string{}
	for round := 1; round <= max(1, w.Repeat); round++ {
		previous := values[w.Result]
		for _, t := range w.Tasks {
			e := adapter.Execution{Instance: i.ID, Workload: w.Name, Task: t.Name, Inputs: map[string]string{}}
			if w.Repeat > 0 {
				e.Round = round
			}
			for _, need := range t.Needs {
				e.Inputs[need] = values[need]
			}
			if len(t.Needs) == 0 && round > 1 {
				e.Inputs[protocol.Previous] = previous
			}
			err := adapter.ErrScripted
			for attempt := 1; errors.Is(err, adapter.ErrScripted); attempt++ {
				if f.attempts {
					e.Attempt = attempt
				}
				values[t.Name], err = f.env.Execute(f.ctx, e)
			}
			if err != nil {
				f.env.Ended(i.ID, protocol.Failed, err.Error())
				return
			}
		}
	}
	f.mu.Lock()
	f.ends[i.ID] = values[w.Result]
	f.mu.Unlock()
	f.env.Ended(i.ID, protocol.Completed, values[w.Result])
}

func (f *fake) Look(_ context.Context, ids []string) (states []protocol.State, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if value, there := f.ends[id]; there {
			states = append(states, protocol.State{ID: id, Status: protocol.Completed, Value: value})
		}
		if id == "broken" {
			return nil, errors.New("the store\nis broken")
		}
	}
	return states, nil
}

func (f *fake) Close(ctx context.Context) error {
	f.work.Wait()
	if f.close == nil {
		return nil
	}
	return f.close(ctx)
}

// The lines with which pulley begins.
const (
	hello = `{"pulley":"hello","version":1}`
	setup = `{"pulley":"setup","workloads":[
		{"name":"pair","tasks":[{"name":"a","add":7},{"name":"b","needs":["a"],"add":5,"bytes":50}],"result":"b"},
		{"name":"rounds","tasks":[{"name":"a","add":7}],"result":"a","repeat":2},
		{"name":"retries","tasks":[{"name":"a","fails":2}],"result":"a"},
		{"name":"long","tasks":[{"name":"a","ms":2.5}],"result":"a"}]}`
	open = `{"pulley":"open","process":3,"slots":2,"report":"tasks"}`
)

// begin is the lines up to open, and others that follow.
func begin(more ...string) string {
	return say(append([]string{hello, setup, open}, more...)...)
}

func say(lines ...string) (text string) {
	for _, line := range lines {
		text += strings.ReplaceAll(line, "\n", "") + "\n"
	}
	return text
}

// serve plays lines, and returns what an adapter wrote until it ended.
func serve(t *testing.T, f *fake, text string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := adapter.Serve(t.Context(), strings.NewReader(text), &out, f)
	return out.String(), err
}

// talk starts an adapter, and returns a function that writes lines to it and one that reads one. The adapter ends with the test.
func talk(t *testing.T, f *fake) (write func(string), read func() protocol.Response, ended <-chan error) {
	t.Helper()
	in, requests := io.Pipe()
	responses, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- adapter.Serve(t.Context(), in, out, f)
		_ = in.Close()
		_ = out.Close()
	}()
	lines := bufio.NewReader(responses)
	read = func() (m protocol.Response) {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err == nil {
			m, err = protocol.ParseResponse(line)
		}
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	write = func(text string) {
		t.Helper()
		if _, err := io.WriteString(requests, text); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = requests.Close() })
	return write, read, done
}
