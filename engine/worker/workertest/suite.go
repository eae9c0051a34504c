package workertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pause"
)

// Harness is an executor under test.
type Harness struct {
	// Func makes an action of a behaviour, once for each behaviour that the executor does not lack. t.Cleanup releases
	// resources.
	Func func(t *testing.T, b Behaviour) worker.Func

	// behaviours that this executor cannot have, with the reason
	Lacks map[Behaviour]string

	// Types has the failure types that differ from the suite's: NoFailure if the right result is expected instead. ActionDie
	// must be among them, unless it is lacked.
	Types map[Behaviour]string

	// bounds each attempt; zero: two minutes, for a busy machine
	Timeout time.Duration
}

// NoFailure in Harness.Types means that the behaviour does no harm.
const NoFailure = "none"

const (
	defaultTimeout = 2 * time.Minute
	shortTimeout   = "300ms" // of a node whose action does not end
	atOnce         = 500
	lookAgain      = 20 * time.Millisecond
)

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	if h.Timeout == 0 {
		h.Timeout = defaultTimeout
	}
	s := &suite{h: h, funcs: map[Behaviour]worker.Func{}}
	s.check(t)
	for _, b := range Behaviours() {
		if h.Lacks[b] == "" {
			s.funcs[b] = h.Func(t, b)
		}
	}
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			if why := h.Lacks[c.of]; why != "" {
				t.Skipf("this executor lacks %s: %s", c.of, why)
			}
			t.Parallel()
			c.run(t, s)
		})
	}
}

type suite struct {
	h     Harness
	funcs map[Behaviour]worker.Func
}

func (s *suite) check(t *testing.T) {
	t.Helper()
	for b, why := range s.h.Lacks {
		if !slices.Contains(Behaviours(), b) || why == "" {
			t.Fatalf("the harness lacks %q because of %q; name a behaviour and a reason", b, why)
		}
	}
	for b, typ := range s.h.Types {
		if !slices.Contains(Behaviours(), b) || typ == "" {
			t.Fatalf("the harness has %q fail with type %q; name a behaviour and a type", b, typ)
		}
	}
	if s.h.Lacks[ActionDie] == "" && s.h.Types[ActionDie] == "" {
		t.Fatal("the harness does not say with what type an action fails that dies; name it in Types")
	}
}

type suiteCase struct {
	name string
	of   Behaviour
	run  func(*testing.T, *suite)
}

func cases() []suiteCase {
	return []suiteCase{
		{"ResultsAreWhatTheActionGives", Echo, results},
		{"LargeArgumentsAndResults", Echo, large},
		{"ManyAtOnce", Echo, many},
		{"FailuresHaveTypes", Decline, failsAsItShould(Decline)},
		{"TimeoutsEndAttempts", Hang, timesOut(Hang)},
		{"TimeoutsEndThoseThatIgnoreThem", Ignore, timesOut(Ignore)},
		{"TimeoutsEndThoseThatStandStill", Freeze, timesOut(Freeze)},
		{"CancelEndsAttempts", Hang, cancels(Hang)},
		{"CancelEndsThoseThatIgnoreIt", Ignore, cancels(Ignore)},
		{"HugeResults", Huge, failsAsItShould(Huge)},
		{"OutputWithoutEnd", Flood, failsAsItShould(Flood)},
		{"NoOutput", Nothing, failsAsItShould(Nothing)},
		{"InvalidUTF8", Invalid, failsAsItShould(Invalid)},
		{"GarbageBeforeTheResult", Garbage, failsAsItShould(Garbage)},
		{"EndsWhileItWrites", Half, failsAsItShould(Half)},
		{"Dies", ActionDie, failsAsItShould(ActionDie)},
		{"NobodyOutlivesAResult", Orphan, orphans},
		{"NobodyOutlivesATimeout", OrphanHang, hangingOrphans},
	}
}

// execute runs one attempt with a node timeout (empty: none), as an engine would. It fails the test if the attempt does not end
// soon after its timeout or context.
func (s *suite) execute(ctx context.Context, t *testing.T, b Behaviour, args, timeout string) (json.RawMessage, *plan.Failure) {
	t.Helper()
	reg, err := worker.NewRegistry(worker.Action{Name: string(b), Run: s.funcs[b]})
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		result  json.RawMessage
		failure *plan.Failure
	}
	ended := make(chan end, 1)
	task := taskOf(t, b, args, timeout)
	go func() {
		result, failure := reg.Execute(ctx, task)
		ended <- end{result, failure}
	}()
	timer := time.NewTimer(s.h.Timeout)
	defer timer.Stop()
	select {
	case e := <-ended:
		return e.result, e.failure
	case <-timer.C:
		t.Fatalf("the attempt at %s did not end within %v", b, s.h.Timeout)
		return nil, nil
	}
}

func taskOf(t *testing.T, b Behaviour, args, timeout string) backend.Task {
	t.Helper()
	if timeout != "" {
		timeout = " [timeout: " + timeout + "]"
	}
	text := fmt.Sprintf("fn main(input: [], output: [r]):\n    r = @%s()%s\n    return r\n", b, timeout)
	p, err := plan.CompileText("suite.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	task := backend.Task{Program: p, Action: string(b), Args: json.RawMessage(args), Attempt: 1}
	task.Lease.Key.Instance = uuid.New()
	for _, n := range p.Graph().Nodes {
		if n.Kind == graph.Action {
			task.Lease.Key.Run.Node = n.ID
		}
	}
	return task
}

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	limits := ir.Limits{ValueBytes: 1 << 30}
	x, errX := expr.Decode(a, limits)
	y, errY := expr.Decode(b, limits)
	if err := errors.Join(errX, errY); err != nil {
		t.Error(err)
		return false
	}
	return expr.Equal(x, y)
}

func results(t *testing.T, s *suite) {
	for _, args := range []string{
		`{}`,
		`{"value": null}`,
		`{"a": [1, 2.5, -0.0, true, false, null, "", {}], "b": {"c": []}}`,
		`{"int": 123456789012345678901234567890, "float": 1e300}`,
		`{"text": "ü, \u0000, \ud83d\ude00, \"quoted\", \\ and\n a line"}`,
		"  {\"blanks\" :\t1}\n",
	} {
		result, failure := s.execute(t.Context(), t, Echo, args, "")
		if failure != nil {
			t.Errorf("the arguments %s come back as %v", args, failure)
		} else if !same(t, result, []byte(args)) {
			t.Errorf("the arguments %s come back as %s", args, result)
		}
	}
}

func large(t *testing.T, s *suite) {
	args := `{"text": "` + strings.Repeat("ü0123456789", 40_000) + `"}`
	result, failure := s.execute(t.Context(), t, Echo, args, "")
	if failure != nil {
		t.Fatalf("%d bytes come back as %v", len(args), failure)
	}
	if !same(t, result, []byte(args)) {
		t.Errorf("%d bytes come back as %d others", len(args), len(result))
	}
}

func many(t *testing.T, s *suite) {
	var all sync.WaitGroup
	for i := range atOnce {
		all.Go(func() {
			args := `{"value":` + strconv.Itoa(i) + `}`
			result, failure := s.execute(t.Context(), t, Echo, args, "")
			if failure != nil || !bytes.Equal(result, []byte(args)) {
				t.Errorf("%s of %d at once comes back as %s, %v", args, atOnce, result, failure)
			}
		})
	}
	all.Wait()
}

// For Garbage, failsAsItShould expects the right result if it does no harm.
func failsAsItShould(b Behaviour) func(*testing.T, *suite) {
	return func(t *testing.T, s *suite) {
		want := failureTypes[b]
		if typ := s.h.Types[b]; typ != "" {
			want = typ
		}
		result, failure := s.execute(t.Context(), t, b, `{}`, "")
		switch {
		case want == NoFailure && (failure != nil || string(result) != "true"):
			t.Errorf("it ends with %s, %v; want true", result, failure)
		case want != NoFailure && (failure == nil || failure.Type != want):
			t.Errorf("it ends with %s, %v; want a failure of type %s", shown(result), failure, want)
		case b == Decline && failure.Message != DeclineMessage:
			t.Errorf("the message is %q, want %q", failure.Message, DeclineMessage)
		case failure != nil:
			t.Logf("the failure is %v", failure)
		}
	}
}

func shown(result []byte) []byte { return result[:min(len(result), 200)] }

func timesOut(b Behaviour) func(*testing.T, *suite) {
	return func(t *testing.T, s *suite) {
		result, failure := s.execute(t.Context(), t, b, `{}`, shortTimeout)
		if failure == nil || failure.Type != worker.TypeTimeout {
			t.Errorf("it ends with %s, %v; want a failure of type %s", shown(result), failure, worker.TypeTimeout)
		}
	}
}

func cancels(b Behaviour) func(*testing.T, *suite) {
	return func(t *testing.T, s *suite) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(300*time.Millisecond, cancel) // at any time: it must end either way
		if result, failure := s.execute(ctx, t, b, `{}`, ""); failure == nil {
			t.Errorf("it ends with the result %s", shown(result))
		}
		if result, failure := s.execute(ctx, t, b, `{}`, ""); failure == nil {
			t.Errorf("with a context that has ended it ends with the result %s", shown(result))
		}
	}
}

func orphans(t *testing.T, s *suite) {
	token := uuid.NewString()
	result, failure := s.execute(t.Context(), t, Orphan, `{"token":"`+token+`"}`, "")
	if failure != nil || string(result) != "true" {
		t.Errorf("it ends with %s, %v; want true", shown(result), failure)
	}
	s.awaitNobody(t, token)
}

func hangingOrphans(t *testing.T, s *suite) {
	token := uuid.NewString()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	seen := make(chan struct{})
	go func() { // ends when the process is seen, or with the test
		defer close(seen)
		for range pause.Tries(ctx, lookAgain) {
			if len(withArgument(token)) > 0 {
				cancel(errors.New("the suite has seen the process"))
				return
			}
		}
	}()
	if result, failure := s.execute(ctx, t, OrphanHang, `{"token":"`+token+`"}`, ""); failure == nil {
		t.Errorf("it ends with %s", shown(result))
	}
	cancel(nil)
	<-seen
	s.awaitNobody(t, token)
}

func (s *suite) awaitNobody(t *testing.T, token string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), s.h.Timeout)
	defer cancel()
	for range pause.Tries(ctx, lookAgain) {
		if len(withArgument(token)) == 0 {
			return
		}
	}
	t.Errorf("the processes %v are left", withArgument(token))
}

// withArgument finds none without /proc.
func withArgument(text string) (pids []int) {
	entries, _ := os.ReadDir("/proc") // a Mac has none
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && bytes.Contains(line, []byte(text)) {
			pids = append(pids, pid)
		}
	}
	return pids
}
