package adapter_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

var (
	tokens  = regexp.MustCompile(`3\.\d{10,}\.`) // what differs between two runs
	padding = regexp.MustCompile(` +"`)
)

// TestMessages plays conversations. Each ends with the end of in, so instances are executed before Close returns.
func TestMessages(t *testing.T) {
	t.Parallel()
	greeting := `{"pulley":"hello","version":1,"name":"fake","system":"memory","system_version":"1","promises":{},"shapes":["graph","repeat","retries"]}`
	const ready = `{"pulley":"ready","promises":{}}`
	for name, c := range map[string]struct {
		fake *fake // nil: the zero one
		in   string
		want []string // after the answers to begin
		err  string
	}{
		"a pair": {in: begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"pair"}]}`), want: []string{
			`{"pulley":"submitted","batch":1}`,
			`{"pulley":"started","instance":"i","task":"a"}`,
			`{"pulley":"finished","instance":"i","task":"a","value":"7:P.1"}`,
			`{"pulley":"started","instance":"i","task":"b","inputs":{"a":"7:P.1"}}`,
			`{"pulley":"finished","instance":"i","task":"b","value":"12:P.2"}`,
			`{"pulley":"ended","instance":"i","value":"12:P.2","status":"completed"}`,
		}},
		"rounds": {in: begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"rounds"}]}`), want: []string{
			`{"pulley":"submitted","batch":1}`,
			`{"pulley":"started","instance":"i","task":"a","round":1}`,
			`{"pulley":"finished","instance":"i","task":"a","round":1,"value":"7:P.1"}`,
			`{"pulley":"started","instance":"i","task":"a","round":2,"inputs":{"":"7:P.1"}}`,
			`{"pulley":"finished","instance":"i","task":"a","round":2,"value":"14:P.2"}`,
			`{"pulley":"ended","instance":"i","value":"14:P.2","status":"completed"}`,
		}},
		"retries": {fake: &fake{attempts: true}, in: begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"retries"}]}`), want: []string{
			`{"pulley":"submitted","batch":1}`,
			`{"pulley":"started","instance":"i","task":"a","attempt":1}`,
			`{"pulley":"failed","message":"the attempt was to fail","instance":"i","task":"a","attempt":1}`,
			`{"pulley":"started","instance":"i","task":"a","attempt":2}`,
			`{"pulley":"failed","message":"the attempt was to fail","instance":"i","task":"a","attempt":2}`,
			`{"pulley":"started","instance":"i","task":"a","attempt":3}`,
			`{"pulley":"finished","instance":"i","task":"a","attempt":3,"value":"0:P.1"}`,
			`{"pulley":"ended","instance":"i","value":"0:P.1","status":"completed"}`,
		}},
		"attempts that nobody counts": {in: begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"retries"}]}`), want: []string{
			`{"pulley":"submitted","batch":1}`,
			`{"pulley":"started","instance":"i","task":"a"}`,
			`{"pulley":"failed","message":"the attempt was to fail","instance":"i","task":"a"}`,
			`{"pulley":"started","instance":"i","task":"a"}`,
			`{"pulley":"failed","message":"the attempt was to fail","instance":"i","task":"a"}`,
			`{"pulley":"started","instance":"i","task":"a"}`,
			`{"pulley":"finished","instance":"i","task":"a","value":"0:P.1"}`,
			`{"pulley":"ended","instance":"i","value":"0:P.1","status":"completed"}`,
		}},
		"ends only": {in: say(hello, setup, `{"pulley":"open","process":3,"slots":1,"report":"ends"}`, `{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"pair"}]}`), want: []string{
			`{"pulley":"submitted","batch":1}`,
			`{"pulley":"ended","instance":"i","value":"12:P.2","status":"completed"}`,
		}},
		"an unknown workload": {in: begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"other"}]}`), want: []string{
			`{"pulley":"error","batch":1,"message":"instance \"i\" has the workload \"other\", which setup did not have"}`,
		}},
		"look": {in: begin(`{"pulley":"look","batch":4,"ids":["i","j"]}`), want: []string{
			`{"pulley":"states","batch":4,"instances":[{"id":"i","status":"unknown"},{"id":"j","status":"unknown"}]}`,
		}},
		"a broken store": {in: begin(`{"pulley":"look","batch":4,"ids":["broken"]}`), want: []string{
			`{"pulley":"error","batch":4,"message":"the store; is broken"}`,
		}},
		"unknown kinds and fields": {in: begin(`{"pulley":"weather","batch":"fine"}`, "", ` {"ids":["i"],"new":{},"instances":null,"pulley":"look","batch":4}`), want: []string{
			`{"pulley":"states","batch":4,"instances":[{"id":"i","status":"unknown"}]}`,
		}},
		"stop, and nothing after it":   {in: begin(`{"pulley":"stop"}`, `{"pulley":"look","batch":4,"ids":["i"]}`)},
		"half a line at the end":       {in: begin() + `{"pulley":"look","ba`},
		"text":                         {in: begin("hello"), err: `pulley wrote a line that cannot be read: "hello": invalid character 'h' looking for beginning of value`},
		"no kind":                      {in: begin(`{}`), err: `pulley wrote a line that cannot be read: "{}": the line is no message: it has no text under the key pulley`},
		"a field of another type":      {in: begin(`{"pulley":"look","batch":"1"}`), err: `cannot be read: "{\"pulley\":\"look\",\"batch\":\"1\"}": json:`},
		"an oversized line":            {in: begin(`{"pulley":"look","ids":["` + strings.Repeat("x", protocol.LineBytes) + `"]}`), err: `pulley wrote a line of more than 8388608 bytes: "{\"pulley\":\"look\",\"ids\":[\"xx`},
		"open again":                   {in: begin(open), err: "pulley wrote open, which does not come here"},
		"a problem with Close":         {fake: &fake{close: func(context.Context) error { return errors.New("a\nb") }}, in: begin(), want: []string{`{"pulley":"problem","message":"a; b"}`}},
		"work before open is answered": {fake: endingAtOnce(), in: begin(`{"pulley":"look","batch":4}`), want: []string{`{"pulley":"ended","message":"early","instance":"i","status":"failed"}`, `{"pulley":"states","batch":4}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := serve(t, cmp.Or(c.fake, &fake{}), c.in)
			got := strings.Split(strings.TrimSuffix(tokens.ReplaceAllString(out, "P."), "\n"), "\n")
			for n := range got {
				got[n] = padding.ReplaceAllString(got[n], `"`)
			}
			want := append([]string{greeting, ready, `{"pulley":"ready"}`}, c.want...)
			if name == "work before open is answered" {
				slices.Sort(got[3:]) // two goroutines
			}
			// submitted and what the instance does come in any order.
			if n := slices.Index(got, `{"pulley":"submitted","batch":1}`); n > 3 {
				got = slices.Insert(slices.Delete(got, n, n+1), 3, `{"pulley":"submitted","batch":1}`)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the adapter wrote\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if (err == nil) != (c.err == "") || err != nil && (!strings.Contains(err.Error(), c.err) || errors.Is(err, adapter.ErrUnusable)) {
				t.Errorf("it ended with %v, want %s", err, c.err)
			}
		})
	}
}

// endingAtOnce returns a system that reports an end while Open may still be at work.
func endingAtOnce() *fake {
	f := &fake{}
	f.open = func(env *adapter.Env) error {
		f.work.Go(func() { env.Ended("i", protocol.Failed, "early") })
		return nil
	}
	return f
}

// TestRefusals plays conversations that an adapter ends with error before it works.
func TestRefusals(t *testing.T) {
	t.Parallel()
	lease := protocol.Hello{Settings: []protocol.Setting{{Name: "lease_ms", Default: "5"}}}
	broken := errors.New("no\ndatabase")
	for name, c := range map[string]struct {
		fake *fake // nil: the zero one
		in   string
		err  string // without its first words
	}{
		"version":    {in: say(`{"pulley":"hello","version":2}`), err: "pulley speaks version 2 of the adapter protocol, and this adapter version 1"},
		"setting":    {fake: &fake{hello: lease}, in: say(hello, `{"pulley":"setup","settings":{"lease":"7"}}`), err: `there is no setting "lease"`},
		"configure":  {fake: &fake{configure: func(*adapter.Env) (protocol.Promises, error) { return protocol.Promises{}, broken }}, in: say(hello, setup), err: "no; database"},
		"create":     {fake: &fake{create: func() error { return broken }}, in: say(hello, `{"pulley":"setup","create":true}`), err: "no; database"},
		"open":       {fake: &fake{open: func(*adapter.Env) error { return broken }}, in: begin(), err: "no; database"},
		"no slots":   {in: say(hello, setup, `{"pulley":"open"}`), err: "open has the process 0 and 0 slots"},
		"a workload": {in: say(hello, `{"pulley":"setup","workloads":[{"name":"w","result":"a"}]}`), err: `workload "w": it has no task; workload "w": the result is that of a task "a", which is not there`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := serve(t, cmp.Or(c.fake, &fake{}), c.in)
			if !errors.Is(err, adapter.ErrUnusable) || strings.ReplaceAll(err.Error(), "\n", "; ") != "the system cannot work here: "+c.err {
				t.Errorf("it ended with %v, want %s", err, c.err)
			}
			quoted := strings.ReplaceAll(c.err, `"`, `\"`)
			if name != "version" && !strings.HasSuffix(out, `{"pulley":"error","message":"`+quoted+`"}`+"\n") {
				t.Errorf("it wrote %s", out)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	f := &fake{hello: protocol.Hello{Settings: []protocol.Setting{{Name: "a", Default: "1"}, {Name: "b", Default: "2"}}}}
	f.configure = func(env *adapter.Env) (protocol.Promises, error) {
		if env.Settings["a"] != "1" || env.Settings["b"] != "3" || env.Store.Dir != "/tmp/x" {
			t.Errorf("the environment is %+v", env)
		}
		return protocol.Promises{RecoversMS: 7}, nil
	}
	out, err := serve(t, f, say(hello, `{"pulley":"setup","settings":{"b":"3"},"store":{"dir":"/tmp/x"}}`))
	if err != nil || !strings.HasSuffix(out, `{"pulley":"ready","promises":{"recovers_ms":7}}`+"\n") {
		t.Errorf("it wrote %s and ended with %v", out, err)
	}
}

// TestRequestsAreConcurrent answers a submit while another waits, unless the system promises an order.
func TestRequestsAreConcurrent(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"", protocol.InOrder} {
		var atWork, most atomic.Int64
		begun, more := make(chan struct{}, 2), make(chan struct{})
		f := &fake{hello: protocol.Hello{Promises: protocol.Promises{Order: order}}}
		f.submit = func(context.Context, []protocol.Instance) error {
			most.Store(max(most.Load(), atWork.Add(1)))
			begun <- struct{}{}
			<-more
			atWork.Add(-1)
			return nil
		}
		write, read, ended := talk(t, f)
		go write(begin(`{"pulley":"submit","batch":1}`, `{"pulley":"look","batch":2,"ids":["i"]}`, `{"pulley":"submit","batch":3}`, `{"pulley":"stop"}`))
		for range 3 {
			read()
		}
		if m := read(); m.Kind != protocol.KindStates || m.Batch != 2 {
			t.Errorf("while a submit is at work, the answer is %+v", m)
		}
		if order == "" {
			<-begun
			<-begun
		}
		close(more)
		batches := []int64{read().Batch, read().Batch}
		if slices.Sort(batches); order == protocol.InOrder && most.Load() != 1 || !slices.Equal(batches, []int64{1, 3}) {
			t.Errorf("%d submits were at work at once, and the answers are %v", most.Load(), batches)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestManyInstances has many goroutines report at once: lines stay whole.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	var instances []string
	for n := range 500 {
		instances = append(instances, fmt.Sprintf(`{"id":"i%d","workload":"pair"}`, n))
	}
	out, err := serve(t, &fake{}, begin(`{"pulley":"submit","batch":1,"instances":[`+strings.Join(instances, ",")+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	values, kinds := map[string]bool{}, map[protocol.Kind]int{}
	for line := range strings.Lines(out) {
		m, err := protocol.ParseResponse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		kinds[m.Kind]++
		if m.Kind == protocol.KindFinished {
			values[m.Value] = true
		}
	}
	if kinds[protocol.KindStarted] != 1000 || kinds[protocol.KindEnded] != 500 || len(values) != 1000 {
		t.Errorf("the messages are %v, and %d values differ", kinds, len(values))
	}
}

// slow is an output whose first write of ends waits.
type slow struct {
	writes atomic.Int64
	begun  chan struct{}
	more   chan struct{}
	text   strings.Builder
}

func (s *slow) Write(p []byte) (int, error) {
	if strings.Contains(string(p), "ended") && s.writes.Add(1) == 1 {
		close(s.begun)
		<-s.more
	}
	return s.text.Write(p)
}

// TestEndsShareWrites writes ends that are reported during a write together.
func TestEndsShareWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, begun := &slow{begun: make(chan struct{}), more: make(chan struct{})}, false
		f := &fake{open: func(env *adapter.Env) error {
			for range 101 {
				go env.Ended("i", protocol.Completed, "1:")
			}
			return nil
		}}
		f.close = func(context.Context) error {
			<-out.begun
			synctest.Wait() // all other ends are ready
			begun = true
			close(out.more)
			return nil
		}
		if err := adapter.Serve(t.Context(), strings.NewReader(begin()), out, f); err != nil || !begun {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := strings.Count(out.text.String(), `"ended"`); n != 101 || out.writes.Load() > 3 {
			t.Errorf("%d ends took %d writes", n, out.writes.Load())
		}
	})
}

// TestTimes checks that a task takes its time, and what an end during it does.
func TestTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := serve(t, &fake{}, begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"long"}]}`)); err != nil || time.Since(began) != 2500*time.Microsecond {
			t.Errorf("a task of 2.5 ms took %v (%v)", time.Since(began), err)
		}
		stuck := &fake{
			submit: func(ctx context.Context, _ []protocol.Instance) error { <-ctx.Done(); return context.Cause(ctx) },
			close:  func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		}
		began = time.Now()
		out, err := serve(t, stuck, begin(`{"pulley":"submit","batch":1}`))
		if took := time.Since(began); err != nil || took > 25*time.Second {
			t.Errorf("a stuck system took %v to end (%v)", took, err)
		}
		const want = `{"pulley":"error","batch":1,"message":"pulley has stopped the process"}` + "\n" + `{"pulley":"problem","message":"pulley has stopped the process"}` + "\n"
		if !strings.HasSuffix(out, want) {
			t.Errorf("it wrote %s", out)
		}
	})
}

// TestAbruptEnd ends the context of an adapter while a task is at work: nothing more is reported of the task.
func TestAbruptEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		killed := errors.New("killed")
		ctx, kill := context.WithTimeoutCause(t.Context(), time.Millisecond, killed)
		defer kill()
		in, requests := io.Pipe()
		go func() {
			_, _ = io.WriteString(requests, begin(`{"pulley":"submit","batch":1,"instances":[{"id":"i","workload":"long"}]}`))
		}()
		var out strings.Builder
		f := &fake{}
		err := adapter.Serve(ctx, in, &out, f)
		if !errors.Is(err, killed) || !errors.Is(context.Cause(f.ctx), killed) {
			t.Errorf("it ended with %v, and the system's context with %v", err, context.Cause(f.ctx))
		}
		if strings.Contains(out.String(), "finished") || !strings.Contains(out.String(), "started") {
			t.Errorf("it wrote %s", out.String())
		}
		_ = in.Close() // ends the goroutine that reads
	})
}

// TestBrokenOutput ends the session when nobody reads any more.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	_ = in.Close()
	if err := adapter.Serve(t.Context(), strings.NewReader(begin()), out, &fake{}); err == nil || !strings.Contains(err.Error(), "writing to pulley") {
		t.Errorf("it ended with %v", err)
	}
}

// TestMistakesOfASystem reports executions that no workload has as problems.
func TestMistakesOfASystem(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.submit = func(ctx context.Context, _ []protocol.Instance) error {
		for _, e := range []adapter.Execution{{Workload: "other"}, {Workload: "pair", Task: "z"}, {Instance: "i", Workload: "pair", Task: "b", Attempt: 1}} {
			if _, err := f.env.Execute(ctx, e); err == nil {
				t.Errorf("%+v was executed", e)
			}
		}
		return nil
	}
	out, err := serve(t, f, begin(`{"pulley":"submit","batch":1}`))
	const want = `{"pulley":"problem","message":"instance \"\" has the workload \"other\", which setup did not have"}
{"pulley":"problem","message":"the workload \"pair\" has no task \"z\""}
{"pulley":"started","instance":"i","task":"b","attempt":1}
{"pulley":"problem","message":"instance \"i\": task \"b\" has no input of \"a\", which it needs"}
{"pulley":"submitted","batch":1}
`
	if err != nil || !strings.HasSuffix(out, want) {
		t.Errorf("it ended with %v and wrote %s", err, out)
	}
}

const mainVariable = "ADAPTER_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		adapter.Main(&fake{open: func(*adapter.Env) error { fmt.Println("loading"); return nil }})
	}
	os.Exit(m.Run())
}

// TestProcess runs Main in a process.
func TestProcess(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in     string
		status int
		stderr string
	}{
		"stop":    {begin(`{"pulley":"stop"}`), 0, "loading\n"},
		"the end": {say(hello), 0, ""},
		"version": {say(`{"pulley":"hello","version":2}`), 2, "the system cannot work here: pulley speaks version 2 of the adapter protocol, and this adapter version 1\n"},
		"text":    {say("x"), 1, "pulley wrote a line that cannot be read: \"x\": invalid character 'x' looking for beginning of value\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), mainVariable+"=1")
			var stdout, stderr strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(c.in), &stdout, &stderr
			var exit *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != c.status || stderr.String() != c.stderr || strings.Contains(stdout.String(), "loading") {
				t.Errorf("status %d, standard error %q, output %s", got, stderr.String(), stdout.String())
			}
		})
	}
}

// Persist continues after errors, and tells each of them; it ends with its context, with the last error.
func TestPersist(t *testing.T) {
	failures, told := 3, 0
	err := adapter.Persist(t.Context(), time.Minute, func(error) { told++ }, func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("a call has no deadline")
		}
		if failures--; failures >= 0 {
			return errors.New("away")
		}
		return nil
	})
	if err != nil || told != 3 {
		t.Errorf("%v, %d problems told", err, told)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	err = adapter.Persist(ctx, time.Minute, nil, func(context.Context) error {
		cancel(errors.New("the process has to end"))
		return errors.New("away")
	})
	if err == nil || !strings.Contains(err.Error(), "has to end") || !strings.Contains(err.Error(), "away") {
		t.Errorf("after the end of its context: %v", err)
	}
}
