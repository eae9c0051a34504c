package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/internal/pgtest"
)

// TestMisbehaviour has a process misbehave after its beginning, and wants every waiting call to get an error that says so.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ line, want string }{
		"unreadable":       {`{"pulley":"started","instance":`, `^adapter process 3: output: expected messages that can be read; came {"pulley":"started","instance":: unexpected end of JSON input; write each message`},
		"two in a line":    {`{"pulley":"problem"}{"pulley":"problem"}`, `output: expected messages that can be read`},
		"not UTF-8":        {`"{\"pulley\":\"problem\",\"message\":\"\xff\"}\n"`, `it is not UTF-8`},
		"kind is a number": {`{"pulley":7}`, `output: expected fields of the right types; came pulley is a number; write a text: {"pulley":7}; correct that`},
		"behind text":      {`hi {"pulley":"problem"}`, `output: expected messages that can be read; came hi {"pulley":"problem"}: `},
		"array":            {`{"pulley":"problem","message":[]}`, `output: expected fields of the right types; came message is a list; write a text: `},
		"unknown batch":    {`{"pulley":"submitted","batch":77}`, `answers: expected one answer to each submit and look, with its batch; came one to no open batch: .*77`},
		"other answer":     {`{"pulley":"states","batch":1}`, `answers: expected submitted or error as the answer to batch 1; came`},
		"no instance":      {`{"pulley":"ended","instance":"i9","status":"completed"}`, `reports: expected reports of instances that were submitted; came .*i9`},
		"no task":          {`{"pulley":"started","instance":"i1","task":"c"}`, `reports: expected reports of tasks of the workload pair; came`},
		"no status":        {`{"pulley":"ended","instance":"i1","status":"done"}`, `reports: expected ended with the status completed or failed`},
		"a round":          {`{"pulley":"started","instance":"i1","task":"a","round":2}`, `reports: expected rounds from 1 to 1`},
		"ready again":      {`{"pulley":"ready"}`, `answers: expected ready only as an answer; came`},
		"error for nobody": {`{"pulley":"error","message":"x"}`, `answers: expected error only as an answer; .* tell people by problem`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := start(t, begin+"> *\n< "+c.line+"\nhang")
			open(t, p)
			err := p.Submit(t.Context(), one)
			if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Submit gives %v, want %s", err, c.want)
			}
			if _, after := p.Look(t.Context(), []string{"i1"}); after == nil || after.Error() != err.Error() {
				t.Errorf("a later call gives %v, want %v", after, err)
			}
		})
	}
}

// TestMisbehaviourMayContinue has somebody else decide, who also sees what is harmless.
func TestMisbehaviourMayContinue(t *testing.T) {
	t.Parallel()
	script := begin + "> *\n< hi\n< {\"x\":{\"pulley\":\"problem\"}}\n< the \"pulley\" database\n< {\"a\":1,\"pulley\":\"problem\"}\n< {\"pulley\":\"dance\"}\n< {\"pulley\":\n< {\"pulley\":\"submitted\",\"batch\":1}\nend"
	w := &watched{}
	p, seen := start(t, script, func(c *host.Config) {
		c.Misbehaved = func(process int, m *host.Misbehaviour) bool {
			w.add(&w.mistakes, fmt.Sprintf("%d %s %v", process, m.About, m.Harmless))
			return true
		}
	})
	open(t, p)
	if err := p.Submit(t.Context(), one); err != nil {
		t.Error(err)
	}
	if err := p.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "no end came") {
		t.Errorf("Stop gives %v", err)
	}
	want := []string{"3 output true", "3 output true", "3 output true", "3 output true", "3 output true", "3 output false"}
	if !slices.Equal(w.mistakes, want) {
		t.Errorf("the mistakes are %q, want %q", w.mistakes, want)
	}
	if len(seen.reports) != 2 || seen.log[0] != "hi" {
		t.Errorf("observed is %v, the log is %q", seen.reports, seen.log)
	}
}

// TestLongLines reads a line of the greatest length, and refuses a longer one.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const rest = `{"pulley":"problem","message":""}` + "\n"
	for more, want := range map[int]string{0: "", 1: "output: expected lines of at most 8388608 bytes; came a longer one: {\"pulley\":\"problem\""} {
		path := t.TempDir() + "/line"
		text := strings.Replace(rest, `""`, `"`+strings.Repeat("x", protocol.LineBytes-len(rest)+more)+`"`, 1)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, w := start(t, "", func(c *host.Config) {
			c.Command = []string{"sh", "-c", `read line; cat "$0"; echo '` + greeting + `'; cat >&2`, path}
		})
		_, err := p.Hello(t.Context())
		if want == "" && (err != nil || len(w.reports) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes more give %.300v, want %s", more, err, want)
		}
	}
}

// TestDeath leaves all waiting calls with the exit status and the last lines of standard error.
func TestDeath(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	for i := range 12 {
		fmt.Fprintf(&script, "! line %d\n", i)
	}
	p, w := start(t, begin+"> *\n> *\n"+script.String()+"exit 5")
	open(t, p)
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- p.Submit(t.Context(), one) }()
	}
	for range 2 {
		err := <-errs
		var died *host.Died
		if !errors.As(err, &died) || died.State.ExitCode() != 5 || len(died.Said) != 10 || died.Said[9] != "line 11" || died.BeforeReady {
			t.Errorf("Submit gives %v", err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "adapter process 3 ended with exit status 5, and on standard error: line 2 | line 3") {
			t.Errorf("the error is %v", err)
		}
	}
	<-p.Done()
	if p.State().ExitCode() != 5 || len(w.log) != 12 {
		t.Errorf("it ended with %v, the log has %d lines", p.State(), len(w.log))
	}
}

// TestKill ends a process that hangs, and Close one that nobody has killed.
func TestKill(t *testing.T) {
	t.Parallel()
	p, _ := start(t, begin+"hang")
	open(t, p)
	p.Pause()
	p.Continue()
	p.Kill()
	<-p.Done()
	if err := p.Submit(t.Context(), one); err == nil || err.Error() != "adapter process 3 ended with signal: killed, and wrote nothing to standard error" {
		t.Errorf("Submit gives %v", err)
	}
	open2, _ := start(t, begin+"hang")
	open(t, open2)
}

// TestRefusals wants the reason of an adapter that cannot work.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"> *\n< " + greeting + "\n> *\n< {\"pulley\":\"error\",\"message\":\"no license\"}\nhang": "no license",
		"> *\n< " + greeting + "\n> *\n! no license\nexit 2":                                      "no license",
	} {
		p, _ := start(t, script)
		if _, err := p.Hello(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := p.Setup(t.Context(), host.Setup{})
		if reason, is := host.CannotWork(err); !is || reason != want {
			t.Errorf("Setup gives %v, the reason is %q", err, reason)
		}
	}
	p, _ := start(t, begin+"> *\n< {\"pulley\":\"error\",\"batch\":1,\"message\":\"full\"}\n! worse\nexit 2")
	open(t, p)
	err := p.Submit(t.Context(), one)
	var refused *host.Refused
	if !errors.As(err, &refused) || refused.Batch != 1 || refused.Message != "full" {
		t.Errorf("Submit gives %v", err)
	}
	<-p.Done()
	for _, err := range []error{err, p.Submit(t.Context(), one), nil} {
		if _, is := host.CannotWork(err); is {
			t.Errorf("%v is taken for an adapter that cannot work", err)
		}
	}
	wrong, _ := start(t, strings.Replace("> *\n< "+greeting, `"version":1`, `"version":2`, 1))
	if _, err := wrong.Hello(t.Context()); err == nil || !strings.Contains(err.Error(), "version is 2; pulley speaks version 1") {
		t.Errorf("Hello gives %v", err)
	}
}

// TestWaitsEnd wants each wait to end with its context, and bounds open batches.
func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	p, _ := start(t, "> *\nhang")
	if _, err := p.Hello(soon()); err == nil || !regexp.MustCompile(`^adapter process 3: no (hello as the answer to hello|reading of its standard input) within .*; look at its log, or give it more time$`).MatchString(err.Error()) {
		t.Errorf("Hello gives %v", err)
	}
	p, _ = start(t, begin+"hang", func(c *host.Config) { c.BatchesMax = 1 })
	open(t, p)
	if err := p.Stop(soon()); err == nil || !strings.Contains(err.Error(), "no end with status 0 after its standard input had ended within") {
		t.Errorf("Stop gives %v", err)
	}
	<-p.Done() // Stop has killed it
	p, _ = start(t, begin+"hang", func(c *host.Config) { c.BatchesMax = 1 })
	open(t, p)
	if err := p.Submit(soon(), one); err == nil {
		t.Error("Submit waits for nothing")
	}
	if err := p.Submit(soon(), one); err == nil || !strings.Contains(err.Error(), "no answer to one of 1 open batches within") {
		t.Errorf("Submit gives %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if err := p.Submit(ctx, one); err == nil || err.Error() != "enough" {
		t.Errorf("Submit gives %v", err)
	}
	// On a busy machine a write's time may be over before it begins. Once it has begun, the process ends: nobody can write after half
	// a message.
	err := p.Write(soon(), []byte(strings.Repeat("x", 1<<20)))
	if err == nil || !strings.Contains(err.Error(), "no reading of its standard input within") {
		t.Errorf("Write gives %v", err)
	}
	for {
		select {
		case <-p.Done():
			return
		case <-soon().Done():
			_ = p.Write(soon(), []byte(strings.Repeat("x", 1<<20)))
		}
	}
}

// TestOwnMistakes refuses what would confuse an adapter.
func TestOwnMistakes(t *testing.T) {
	t.Parallel()
	p, _ := start(t, begin+"end")
	open(t, p)
	wrong := map[string]error{
		`instance "x": setup had no workload "nosuch"`: p.Submit(t.Context(), []protocol.Instance{{ID: "x", Workload: "nosuch"}}),
		"a process needs one slot or more":             p.Open(t.Context(), 0, protocol.ReportTasks),
		"the ids of a look have one twice":             func() error { _, err := p.Look(t.Context(), []string{"a", "a"}); return err }(),
	}
	for want, err := range wrong {
		if err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
	for want, c := range map[string]host.Config{
		"no adapter; name its program and its arguments, such as exec:./my-adapter --flag": {},
		"there is no program nosuchprogram; check the name, and PATH":                      {Command: []string{"nosuchprogram"}},
	} {
		if _, err := host.New(c); err == nil || err.Error() != want {
			t.Errorf("New gives %v, want %s", err, want)
		}
	}
}

// TestPromisesOfReady replaces what hello promised by what ready does.
func TestPromisesOfReady(t *testing.T) {
	t.Parallel()
	for promises, want := range map[string]string{`{"recovers_ms":7}`: "", `{"results":"twice"}`: `ready: expected promises that are right; came some where the promise results is "twice"`} {
		p, _ := start(t, strings.Replace(begin, `{"pulley":"ready"}`, `{"pulley":"ready","promises":`+promises+`}`, 1)+"hang")
		if _, err := p.Hello(t.Context()); err != nil || p.Promises().RecoversMS != 0 {
			t.Fatal(err, p.Promises())
		}
		err := p.Setup(t.Context(), host.Setup{})
		if want == "" && (err != nil || p.Promises().RecoversMS != 7) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s gives %v, %+v", promises, err, p.Promises())
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"exec:./my-adapter --flag":        {"./my-adapter", "--flag"},
		`exec: a  'b c' "d \" e" f\ g ''`: {"a", "b c", `d " e`, "f g", ""},
		"./a b":                           {"./a b"},
		"exec:":                           nil,
		"exec:'a":                         nil,
		`exec:a\`:                         nil,
		"":                                nil,
	} {
		got, err := host.Command(text)
		if !slices.Equal(got, want) || (err != nil) != (want == nil) {
			t.Errorf("%s is %q, %v; want %q", text, got, err, want)
		}
	}
	if got, err := host.Command("exec:a", "b c"); err != nil || !slices.Equal(got, []string{"a", "b c"}) {
		t.Errorf("the command is %q, %v", got, err)
	}
	if _, err := host.Command(); err == nil {
		t.Error("no words are a command")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	given, err := host.ParseSettings([]string{"lease_ms=5", "dsn=a=b"})
	if err != nil || len(given) != 2 || given["dsn"] != "a=b" {
		t.Errorf("the settings are %v, %v", given, err)
	}
	for _, texts := range [][]string{{"a"}, {"=a"}, {"a=1", "a=2"}} {
		if _, err := host.ParseSettings(texts); err == nil {
			t.Errorf("%q are settings", texts)
		}
	}
	h := &protocol.Hello{Name: "n", Settings: []protocol.Setting{{Name: "lease_ms", Default: "2000"}, {Name: "poll_ms", Default: "10"}}}
	all, err := host.Settings(h, map[string]string{"lease_ms": "5"})
	if err != nil || all["lease_ms"] != "5" || all["poll_ms"] != "10" || len(all) != 2 {
		t.Errorf("the settings are %v, %v", all, err)
	}
	for name, want := range map[string]string{
		"lese_ms": `the adapter n has no setting "lese_ms", did you mean "lease_ms"?`,
		"x":       `the adapter n has no setting "x"; it has lease_ms, poll_ms`,
	} {
		if _, err := host.Settings(h, map[string]string{name: "1"}); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// TestStore makes a database and a folder, which vanish.
func TestStore(t *testing.T) {
	t.Parallel()
	s, err := host.NewStore(t.Context(), pgtest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^postgres://[^/]*127\.0\.0\.1:\d+/pulley_[a-z0-9]+\?sslmode=disable$`).MatchString(s.DSN) {
		t.Errorf("the DSN is %s", s.DSN)
	}
	connect(t, s.DSN, true)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
	connect(t, s.DSN, false)
}

func connect(t *testing.T, dsn string, there bool) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if (err == nil) != there {
		t.Errorf("connecting gives %v", err)
	}
	if err == nil {
		_ = conn.Close(t.Context())
	}
}
