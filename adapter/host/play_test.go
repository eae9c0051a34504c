package host_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

// playVariable makes the test binary an adapter that plays the script of this text.
const playVariable = "PULLEY_TEST_PLAY"

func TestMain(m *testing.M) {
	if script := os.Getenv(playVariable); script != "" {
		os.Exit(play(script))
	}
	goleak.VerifyTestMain(sharing{m})
}

// sharing runs the tests with a server that some of them share.
type sharing struct{ m *testing.M }

func (s sharing) Run() int { return pgtest.Run(s.m) }

// play plays a script: "> LINE" reads a line that must be that JSON, "> *" any line, "< LINE" writes one, "! LINE" writes one to
// standard error, "end" awaits the end of standard input, "exit N" exits, and "hang" does nothing until it is killed.
func play(script string) int {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, protocol.LineBytes)
	for line := range strings.Lines(script) {
		word, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch word {
		case ">":
			if !in.Scan() {
				fmt.Fprintln(os.Stderr, "the end came instead of", rest)
				return 7
			}
			if rest != "*" && !sameJSON(in.Text(), rest) {
				fmt.Fprintf(os.Stderr, "came %s, want %s\n", in.Text(), rest)
				return 7
			}
		case "<":
			text, err := strconv.Unquote(rest)
			if err != nil {
				text = rest + "\n"
			}
			_, _ = os.Stdout.WriteString(text)
		case "!":
			fmt.Fprintln(os.Stderr, rest)
		case "end":
			if in.Scan() {
				fmt.Fprintln(os.Stderr, "no end came, but", in.Text())
				return 7
			}
		case "exit":
			code, _ := strconv.Atoi(rest)
			return code
		case "hang":
			time.Sleep(time.Hour)
		}
	}
	return 0
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// watched is what a host passed on.
type watched struct {
	mu       sync.Mutex
	reports  []protocol.Response
	log      []string
	mistakes []string
}

func (w *watched) add(to *[]string, line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*to = append(*to, line)
}

// start starts a process that plays a script.
func start(t *testing.T, script string, change ...func(*host.Config)) (*host.Process, *watched) {
	t.Helper()
	depth.Needs(t, "another process")
	w := &watched{}
	c := host.Config{
		Command: []string{os.Args[0]}, Env: map[string]string{playVariable: script},
		Observe: func(_ int, r protocol.Response, at time.Time) {
			if at.IsZero() {
				t.Error("a report has no time")
			}
			w.reports = append(w.reports, r) // one at a time; read after Close
		},
		Log: func(_ int, line string) { w.add(&w.log, line) },
	}
	for _, f := range change {
		f(&c)
	}
	h, err := host.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	p, err := h.Start(3)
	if err != nil {
		t.Fatal(err)
	}
	return p, w
}

// page returns the conversation of docs/adapter.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "adapter.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ = bytes.Cut(text, []byte("```\n>"))
	block, _, found := bytes.Cut(text, []byte("```"))
	if !found {
		t.Fatal("docs/adapter.md has no conversation")
	}
	return ">" + string(block)
}

const (
	greeting = `{"pulley":"hello","version":1,"name":"n","system":"s","system_version":"1","promises":{},"shapes":["graph"]}`
	begin    = "> *\n< " + greeting + "\n> *\n< {\"pulley\":\"ready\"}\n> *\n< {\"pulley\":\"ready\"}\n"
)

var pair = protocol.Workload{Name: "pair", Tasks: []protocol.Task{{Name: "a"}, {Name: "b", Needs: []string{"a"}}}, Result: "b"}

// open goes through the beginning of a process.
func open(t *testing.T, p *host.Process) {
	t.Helper()
	if _, err := p.Hello(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Setup(t.Context(), host.Setup{Workloads: []protocol.Workload{pair}}); err != nil {
		t.Fatal(err)
	}
	if err := p.Open(t.Context(), 4, protocol.ReportTasks); err != nil {
		t.Fatal(err)
	}
}

var one = []protocol.Instance{{ID: "i1", Workload: "pair"}}

// TestConversation plays the adapter's part of the page, which checks each line of ours.
func TestConversation(t *testing.T) {
	t.Parallel()
	script := strings.Replace(page(t), `"process":0`, `"process":3`, 1)
	p, w := start(t, script)
	hello, err := p.Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	settings, err := host.Settings(hello, nil)
	if err != nil {
		t.Fatal(err)
	}
	w1 := protocol.Workload{Name: "pair", Tasks: []protocol.Task{{Name: "a"}, {Name: "b", Needs: []string{"a"}, MS: 5}}, Result: "b"}
	if err := p.Setup(t.Context(), host.Setup{
		Store:     protocol.Store{DSN: "postgres://pulley@127.0.0.1:5433/run1?sslmode=disable", Dir: "/tmp/run1"},
		Settings:  settings,
		Workloads: []protocol.Workload{w1},
	}); err != nil {
		t.Fatal(err)
	}
	if err := p.Open(t.Context(), 4, protocol.ReportTasks); err != nil {
		t.Fatal(err)
	}
	if err := p.Submit(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	states, err := p.Look(t.Context(), []string{"i1", "i2"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []protocol.State{{ID: "i1", Status: protocol.Completed, Value: "12:0.2"}, {ID: "i2", Status: protocol.Unknown}}; !slices.Equal(states, want) {
		t.Errorf("the states are %v, want %v", states, want)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	var kinds []string
	for _, r := range w.reports {
		kinds = append(kinds, string(r.Kind))
	}
	if got := strings.Join(kinds, " "); got != "submitted started finished started finished ended states" {
		t.Errorf("observed are %s", got)
	}
	if r := w.reports[3]; r.Instance != "i1" || r.Task != "b" || r.Inputs["a"] != "7:0.1" {
		t.Errorf("the start of b is %+v", r)
	}
}
