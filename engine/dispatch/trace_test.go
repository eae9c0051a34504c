package dispatch

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

// Lines of testdata with ">" are the script; the machine's answers follow each.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newTracer().run(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the trace differs (-want +got); go test ./engine/dispatch -run TestTraces -update rewrites it\n%s", diff)
			}
		})
	}
}

type tracer struct {
	cfg   Config
	m     *Machine
	zero  time.Time
	now   time.Time
	names map[uuid.UUID]string
	token map[string]int64

	slow    *plan.Program // its only action has a timeout of a second
	granted TaskID
	running map[TaskID]string
	ids     map[string]TaskID // by name#token, and the last one by name; scripts grant nothing to a draining machine that they name later
}

func newTracer() *tracer {
	zero := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return &tracer{zero: zero, now: zero, names: map[uuid.UUID]string{}, running: map[TaskID]string{}, ids: map[string]TaskID{}, token: map[string]int64{}}
}

func (tr *tracer) run(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			out.WriteString(line)
		case words[0] == ">":
			out.WriteString(line)
			for _, answer := range tr.line(t, words[1:]) {
				fmt.Fprintf(&out, "    %s\n", answer)
			}
		}
	}
	return out.String()
}

// A line is an optional +duration, and an event with its arguments.
func (tr *tracer) line(t *testing.T, words []string) []string {
	t.Helper()
	if step, ok := strings.CutPrefix(words[0], "+"); ok {
		d, err := time.ParseDuration(step)
		if err != nil {
			t.Fatal(err)
		}
		tr.now = tr.now.Add(d)
		words = words[1:]
	}
	if len(words) > 0 && words[0] == "config" {
		tr.configure(t, words[1:])
		return nil
	}
	var events []Event
	for len(words) > 0 {
		n := 1
		for n < len(words) && words[n] != "and" {
			n++
		}
		events = append(events, tr.event(t, words[:n]))
		words = words[min(n+1, len(words)):]
	}
	return tr.step(t, events)
}

func (tr *tracer) step(t *testing.T, events []Event) []string {
	t.Helper()
	var lines []string
	for _, c := range tr.m.Step(tr.now, events...) {
		lines = append(lines, tr.show(c))
	}
	if err := tr.m.Check(); err != nil {
		t.Error(err)
	}
	next := tr.m.Next()
	if !next.IsZero() && !next.After(tr.now) {
		t.Errorf("the next step is due at %v, and it is %v", next.Sub(tr.zero), tr.now.Sub(tr.zero))
	}
	if next.IsZero() {
		return append(lines, fmt.Sprintf("at %v, no timer", tr.now.Sub(tr.zero)))
	}
	return append(lines, fmt.Sprintf("at %v, next %v", tr.now.Sub(tr.zero), next.Sub(tr.zero)))
}

func (tr *tracer) configure(t *testing.T, words []string) {
	t.Helper()
	cfg := Config{
		Owner: "me", Shards: 1, Slots: 2, Prefetch: 0, Batch: 4, BatchBytes: 1000, Committers: 2, WriteCost: 8, Pending: 8, Queue: 4, MaxDeliveries: 5,
		Lease: 3 * time.Second, Poll: 250 * time.Millisecond, Sweep: time.Hour,
		RetryMin: 10 * time.Millisecond, RetryMax: 40 * time.Millisecond,
	}
	ints := map[string]*int{
		"shards": &cfg.Shards, "slots": &cfg.Slots, "prefetch": &cfg.Prefetch, "batch": &cfg.Batch,
		"bytes": &cfg.BatchBytes, "committers": &cfg.Committers, "apart": &cfg.WriteCost, "overlap": &cfg.Overlap, "pending": &cfg.Pending, "queue": &cfg.Queue, "deliveries": &cfg.MaxDeliveries,
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		if field, ok := ints[key]; ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			*field = n
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			t.Fatal(err)
		}
		switch key {
		case "poll":
			cfg.Poll = d
		case "grace":
			cfg.Grace = d
		case "sweep":
			cfg.Sweep = d
		case "notify":
			cfg.Notify, cfg.NotifyEvery = true, d
		default:
			t.Fatalf("unknown setting %s", key)
		}
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	*tr = *newTracer()
	tr.cfg, tr.m, tr.slow = cfg, m, slowProgram(t)
}

func (tr *tracer) event(t *testing.T, words []string) Event {
	t.Helper()
	arg := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "submit":
		return Submit{Ticket: Ticket(tr.number(t, arg(1))), Submission: backend.Submission{ID: tr.id(arg(2)), Input: json.RawMessage(arg(3))}}
	case "forget":
		return Forget{Ticket: Ticket(tr.number(t, arg(1)))}
	case "done":
		return Done{Task: tr.ids[arg(1)], Result: json.RawMessage(arg(2))}
	case "died":
		rest, err := time.ParseDuration(arg(2))
		if err != nil {
			t.Fatal(err)
		}
		return Done{Task: tr.ids[arg(1)], Died: true, RetryPause: rest, Failure: &plan.Failure{Type: "Gone", Message: "signal: killed"}}
	case "ended":
		return Ended{Instances: []backend.Instance{{ID: tr.id(arg(1)), Status: backend.Canceled}}}
	case "woken":
		return Notified{}
	case "drain":
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		return Drain{Until: tr.now.Add(d)}
	}
	if id, ok := strings.CutPrefix(words[0], "c"); ok {
		return tr.reply(t, CallID(tr.number(t, id)), words[1:])
	}
	t.Fatalf("unknown event %q", words)
	return nil
}

// reply parses "tasks=a,b answers=applied,stale ended=a more due=1s held=yes,no swept err=text".
func (tr *tracer) reply(t *testing.T, call CallID, words []string) Event {
	t.Helper()
	r := Reply{Call: call}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		list := strings.Split(value, ",")
		switch key {
		case "tasks":
			for _, name := range list {
				r.Committed.Tasks = append(r.Committed.Tasks, tr.task(name))
			}
		case "answers":
			for _, answer := range list {
				out := backend.Outcome{Answer: backend.Answer(answer)}
				if out.Answer == backend.Refused {
					out.Err = backend.ErrOverflow
				}
				r.Committed.Outcomes = append(r.Committed.Outcomes, out)
			}
		case "ended":
			for _, name := range list {
				r.Committed.Ended = append(r.Committed.Ended, backend.Instance{ID: tr.id(name), Status: backend.Completed})
			}
		case "more":
			r.Committed.More, r.Swept.More = true, true
		case "due":
			d, err := time.ParseDuration(value)
			if err != nil {
				t.Fatal(err)
			}
			r.Committed.NextDue = tr.now.Add(d)
		case "held":
			for _, held := range list {
				r.Held = append(r.Held, held == "yes")
			}
		case "err":
			r.Err = errors.New(value)
		case "ok":
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return r
}

// task leases the only node of an instance, with the next token. A name that begins with slow has a timeout of a second; one
// that begins with nap is a sleep.
func (tr *tracer) task(name string) backend.Task {
	tr.token[name]++
	tr.granted++
	tr.ids[name] = tr.granted
	tr.ids[fmt.Sprintf("%s#%d", name, tr.token[name])] = tr.granted
	task := backend.Task{
		Lease:  backend.Lease{Key: backend.Key{Instance: tr.id(name), Run: graph.Run{Node: 1}}, Token: tr.token[name]},
		Action: "work", Attempt: 1, Deliveries: int(tr.token[name]), Expires: tr.now.Add(tr.cfg.Lease),
	}
	switch {
	case strings.HasPrefix(name, "slow"):
		task.Program = tr.slow
	case strings.HasPrefix(name, "nap"):
		task.Action = ""
	}
	return task
}

func slowProgram(t *testing.T) *plan.Program {
	t.Helper()
	p, err := plan.CompileText("slow.ir", []byte("fn main(input: [], output: [x]):\n    x = @work() [timeout: 1s]\n"), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (tr *tracer) number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (tr *tracer) id(name string) uuid.UUID {
	_, want, sharded := strings.Cut(name, "/")
	for n := 0; ; n++ {
		id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(name+strconv.Itoa(n)))
		if !sharded || strconv.Itoa(backend.ShardOf(id, tr.cfg.Shards)) == want {
			tr.names[id] = name
			return id
		}
	}
}

func (tr *tracer) show(c Command) string {
	switch c := c.(type) {
	case Call:
		return tr.showCall(c)
	case *Start:
		tr.running[c.ID] = tr.names[c.Task.Lease.Key.Instance]
		return fmt.Sprintf("start %s#%d", tr.names[c.Task.Lease.Key.Instance], c.Task.Lease.Token)
	case Cancel:
		return fmt.Sprintf("cancel %s: %v", tr.running[c.ID], c.Cause)
	case Failed:
		return fmt.Sprintf("failed %s#%d: %s", tr.names[c.Completion.Lease.Key.Instance], c.Completion.Lease.Token, c.Completion.Failure.Message)
	case Answer:
		if c.Err != nil {
			return fmt.Sprintf("answer %d: %v", c.Ticket, c.Err)
		}
		return fmt.Sprintf("answer %d: %s", c.Ticket, c.Outcome.Answer)
	case Report:
		text := c.Err.Error()
		for id, name := range tr.names {
			text = strings.ReplaceAll(text, id.String(), name)
		}
		return "report " + text
	case Stopped:
		return "stopped"
	}
	return fmt.Sprintf("%#v", c)
}

func (tr *tracer) showCall(c Call) string {
	text := fmt.Sprintf("c%d %s", c.ID, c.Op)
	if tr.cfg.Shards > 1 && c.Op != OpNotify {
		text += fmt.Sprintf(" shard=%d", c.Shard)
	}
	for _, sub := range c.Submissions {
		text += " " + tr.names[sub.ID]
	}
	for _, done := range c.Completions {
		text += fmt.Sprintf(" %s#%d", tr.names[done.Lease.Key.Instance], done.Lease.Token)
		if done.Failure != nil {
			text += "=" + failureText(done.Failure)
		}
	}
	for _, lease := range c.Leases {
		text += fmt.Sprintf(" %s#%d", tr.names[lease.Key.Instance], lease.Token)
	}
	switch c.Op {
	case OpRenew:
		text += fmt.Sprintf(" for %v", c.Grant.Lease)
	case OpSubmit, OpClaim, OpComplete:
		text += fmt.Sprintf(" max=%d", c.Grant.Max)
	}
	return text
}

func failureText(f *plan.Failure) string { return f.Type }
