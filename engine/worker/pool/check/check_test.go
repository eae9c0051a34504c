package check_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/engine/worker/pool/check"
	"pulley/internal/depth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func example(t *testing.T, name string) (path, text string) {
	t.Helper()
	depth.Needs(t, "other processes")
	path, err := filepath.Abs("../../../../examples/workers/" + name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, string(data)
}

func call(t *testing.T, text string) *check.Call {
	t.Helper()
	c, err := check.ParseCall(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGoodWorkers(t *testing.T) {
	t.Parallel()
	python, _ := example(t, "words.py")
	perl, _ := example(t, "words.pl")
	package_, err := filepath.Abs("../../../../python")
	if err != nil {
		t.Fatal(err)
	}
	actions := filepath.Join(t.TempDir(), "actions.py")
	text := "import asyncio, time\nfrom pulley import action\n\n@action\nasync def nap(seconds: float) -> None:\n    await asyncio.sleep(seconds)\n\n@action\ndef loud(text: str) -> str:\n    print(text)\n    return text.upper()\n"
	if err := os.WriteFile(actions, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options check.Options
		leftOut int
	}{
		"python":  {check.Options{Command: []string{"python3", python}, Run: call(t, `words.shout {"text": "für"}`), Slow: call(t, `words.nap {"seconds": 600}`)}, 0},
		"perl":    {check.Options{Command: []string{"perl", perl}, Run: call(t, `words.count {"text": "a b"}`)}, 2},
		"package": {check.Options{Command: []string{"env", "PYTHONPATH=" + package_, "python3", "-m", "pulley", "worker", actions}, Run: call(t, `loud {"text": "für"}`), Slow: call(t, `nap {"seconds": 600}`)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.options.Timeout, c.options.HelloTimeout = time.Minute, time.Minute
			r, err := check.Run(t.Context(), c.options)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Findings {
				t.Error(f)
			}
			if len(r.LeftOut) != c.leftOut || len(r.Passed) < 11 {
				t.Errorf("passed are %q, left out %q", r.Passed, r.LeftOut)
			}
		})
	}
}

var mistakes = map[string]mistake{
	"no hello":          {`    send("hello", `, `    over.wait(); dict(x=1, `, `hello: expected a hello within .*; came nothing for .*; write`},
	"crash":             {`    send("hello", `, `    sys.exit("no license"); dict(`, `hello: expected a hello within .*; came its end with exit status 1, and on standard error: no license; write`},
	"version":           {`version=1`, `version=2`, `hello: expected a hello that is right; came one where its version of the protocol is 2; pulley speaks version 1; correct`},
	"no flush":          {`messages.flush()`, `pass`, `hello: expected a hello within .*; came nothing`},
	"heartbeat first":   {`    send("hello", `, `    send("heartbeat"); send("hello", `, `hello: expected hello as the first message; came heartbeat; send`},
	"hello twice":       {`    threads = []`, `    send("hello", version=1); threads = []`, `output: expected hello once; came {"pulley": "hello", "version": 1}; send`},
	"unknown ignored":   {`        if action not in ACTIONS:`, "        if action not in ACTIONS:\n            return\n        elif 0:", `unknown action: sent .*; expected an error of type UnknownAction; came nothing for .*; answer each run`},
	"unknown dies":      {`        if action not in ACTIONS:`, "        if action not in ACTIONS:\n            os._exit(4)\n        elif 0:", `unknown action: sent .*; came its end with exit status 4; answer each run`},
	"other type":        {`"UnknownAction"`, `"KeyError"`, `unknown action: .*; came an error of type KeyError; give it the type UnknownAction`},
	"unknown succeeds":  {`        if action not in ACTIONS:`, "        if action not in ACTIONS:\n            answer = {'kind': 'result', 'value': None}\n        elif 0:", `unknown action: .*; came a result; fail attempts`},
	"number":            {`    send(id=id, **answer)`, `    send(id=int(id), **answer)`, `answers: expected ids that are texts, as they came; came .*; do not make a number of the id`},
	"other id":          {`    send(id=id, **answer)`, `    send(id=id + "0", **answer)`, `answers: expected answers with the id of an attempt; came .*; give the id of run back`},
	"twice":             {`    send(id=id, **answer)`, `    send(id=id, **answer); send(id=id, **answer)`, `answers: expected one answer to each attempt; came a second one`},
	"prints":            {`messages, _ = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"), os.dup2(2, 1)`, "messages = sys.stdout; print('starting')", `output: expected nothing but messages on standard output; came "starting"; print to standard error`},
	"prints before":     {`messages, _ = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n"), os.dup2(2, 1)`, "messages = sys.stdout; print('starting', end='')", `output: expected nothing but messages on standard output; came "starting"; print to standard error`},
	"key last":          {`{"pulley": kind, **fields}`, `{**fields, "pulley": kind}`, `output: expected messages that begin with {"pulley":; came .*; write the key pulley first`},
	"other kind":        {`        send("heartbeat"`, `        send("alive"`, `output: expected messages of the kinds hello, .*; came {"pulley": "alive", .*; pulley ignores`},
	"several lines":     {`ensure_ascii=False`, `indent=1`, `(?s)hello: expected a hello within .*; came nothing`},
	"no beats":          {`target=beat`, `target=lambda o: 0`, `heartbeats while idle: expected a heartbeat each 100ms, as hello says; came nothing for .*; send heartbeats all the time`},
	"no beats at work":  {`        send("heartbeat", ids=list(running))`, `        running or send("heartbeat")`, `heartbeats while busy: .*expected a heartbeat each 100ms, as hello says; came nothing for .*; send heartbeats from a thread`},
	"one at a time":     {`        threads[-1].start()` + "\n", "        threads[-1].start()\n            threads[-1].join()\n", `attempts beside each other: .* came nothing for .*; work on as many attempts`},
	"no cancel":         {`kind == "cancel" and`, `kind == "stop" and`, `cancel: sent .*; expected an answer to the attempt within .*; came nothing for .*; end what was cancelled`},
	"cancel is unknown": {` and message["id"] in running:`, `:`, `cancel of what is not there: .* came its end with exit status 1.*KeyError.*; ignore cancels`},
	"cancel is the end": {`            running[message["id"]].set()`, `            os._exit(0)`, `cancel: .* came its end with exit status 0; end what was cancelled`},
	"later dies":        {`        if kind == "run":`, "        assert kind in ('hello', 'run', 'cancel', 'bye')\n        if kind == 'run':", `later versions: .* came its end with exit status 1.*; ignore kinds`},
	"long dies":         {`        message = json.loads(line)`, "        assert len(line) < 65536\n        message = json.loads(line)", `a long line: sent a run of \d+ bytes; .* came its end with exit status 1`},
	"pieces":            {`open(0, encoding="utf-8", newline="\n")`, `iter(lambda: os.read(0, 1 << 21).decode().split("\n")[0], "")`, `(two lines at once|a line in pieces): `},
	"arguments taken":   {`        elif sorted(args) != sorted(ACTIONS[action][1]):`, "        elif action == 'words.shout':\n            answer = {'kind': 'result', 'value': 1}\n        elif 0:", `arguments: .* came a result; refuse arguments`},
	"arguments raise":   {`        elif sorted(args) != sorted(ACTIONS[action][1]):`, "        elif 0:", `arguments: .* came an error of type TypeError: .*; give it the type ArgumentError`},
	"run fails":         {`return text.upper()`, `return text.uper()`, `a run: .*expected a result; came an error of type AttributeError`},
	"result is no JSON": {`return text.upper()`, `return float("nan")`, `output: expected messages that can be read; came .*NaN.*; write each message`},
	"bye ignored":       {`    for thread in threads:`, "    import time; time.sleep(1000)\n    for thread in threads:", `bye: sent bye; expected its end with status 0; came nothing for .*; after bye`},
	"bye fails":         {`    over.set()`, `    sys.exit(5)`, `bye: sent bye; expected its end with status 0; came its end with exit status 5; after bye`},
	"bye drops":         {`        elif kind == "bye":`, "        elif kind == 'bye':\n            os._exit(0)\n        elif 0:", `bye behind an attempt: .* came its end with exit status 0; answer what came before bye`},
	"end ignored":       {`    for thread in threads:`, "    import time\n    if kind != 'bye': time.sleep(1000)\n    for thread in threads:", `end of standard input: sent the end of standard input; expected its end with status 0; came nothing for .*; exit when standard input ends`},
}

func TestWrongWorkers(t *testing.T) {
	t.Parallel()
	_, good := example(t, "words.py")
	shout, pause := call(t, `words.shout {"text": "x"}`), call(t, `words.nap {"seconds": 600}`)
	dir := t.TempDir()
	turns := make(chan struct{}, 12) // they wait more than they work
	var all sync.WaitGroup
	for name, c := range mistakes {
		text := c.plant(t, name, good)
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".py")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			var found string
			for _, wait := range c.waits(name) {
				o := check.Options{Command: []string{"python3", file}, Timeout: wait, HelloTimeout: time.Minute, Run: shout, Slow: pause}
				if strings.Contains(c.want, "a hello within") {
					o.HelloTimeout = wait
				}
				r, err := check.Run(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				var lines []string
				for _, f := range r.Findings {
					lines = append(lines, f.String())
					if strings.Contains(f.String(), "\n") {
						t.Errorf("%s: a finding has more than one line: %s", name, f)
					}
				}
				if found = strings.Join(lines, "\n"); regexp.MustCompile(c.want).MatchString(found) {
					return
				}
			}
			t.Errorf("%s: found is\n%s\nwant\n%s", name, found, c.want)
		})
	}
	all.Wait()
}

// mistake is one change of a good worker, and a regular expression for the finding.
type mistake struct{ old, new, want string }

// plant also makes the heartbeat faster, to shorten the test.
func (m mistake) plant(t *testing.T, name, good string) string {
	t.Helper()
	good = strings.NewReplacer("heartbeat_ms=1000", "heartbeat_ms=100", "over.wait(1)", "over.wait(.1)").Replace(good)
	if !strings.Contains(good, m.old) {
		t.Fatalf("%s: the worker has no %q", name, m.old)
	}
	good = strings.ReplaceAll(good, m.old, m.new)
	switch name {
	case "result is no JSON":
		good = strings.Replace(good, "allow_nan=False", "allow_nan=True", 1)
	case "bye drops": // the answer must not be quicker
		good = strings.Replace(good, "def run(id, action, args, cancelled):", "def run(id, action, args, cancelled):\n    action == 'words.shout' and cancelled.wait(1)", 1)
	}
	return good
}

// waits are how long the worker may take for an answer. Where the finding is that nothing comes, or nothing else comes, a short wait
// suffices mostly: it is made longer if other answers did not come in time, as on a busy machine.
func (m mistake) waits(name string) []time.Duration {
	if strings.Contains(m.want, "came nothing") || slices.Contains([]string{"pieces", "result is no JSON", "other id", "other kind"}, name) {
		return []time.Duration{2 * time.Second, 10 * time.Second, time.Minute}
	}
	return []time.Duration{time.Minute}
}

// A worker that did not take all of a line would read the next one as its rest.
func TestNothingFollowsALineThatWasCut(t *testing.T) {
	t.Parallel()
	_, good := example(t, "words.py")
	m := mistake{old: `        message = json.loads(line)`, new: "        message = json.loads(line)\n        import time\n        message['pulley'] == 'of_a_later_version' and time.sleep(1000)"}
	file := filepath.Join(t.TempDir(), "stops_reading.py")
	if err := os.WriteFile(file, []byte(m.plant(t, "stops reading", good)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := check.Run(t.Context(), check.Options{Command: []string{"python3", file}, Timeout: 2 * time.Second, HelloTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range r.Findings {
		found = append(found, f.Check)
	}
	if !slices.Contains(found, "a long line") || slices.Contains(found, "cancel of what is not there") || slices.Contains(r.Passed, "cancel of what is not there") {
		t.Errorf("the findings are %q, passed are %q", r.Findings, r.Passed)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]check.Options{
		"no program; name one and its arguments":                                      {},
		"there is no program nosuchprogram; check the name, and PATH":                 {Command: []string{"nosuchprogram"}},
		`a b {} is no action with its arguments; write such as mail.send {"to": "x"}`: {Command: []string{"sh"}, Run: &check.Call{Action: "a b", Args: []byte("{}")}},
	} {
		if _, err := check.Run(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("Run gives %v, want %s", err, want)
		}
	}
	for text, args := range map[string]string{"a.b": "{}", ` a.b  {"x": 1} `: `{"x": 1}`, "": "", "a b": "", "a [1]": "", "a null": "", "a-b {}": ""} {
		c, err := check.ParseCall(text)
		if (err == nil) != (args != "") || err == nil && (c.Action != strings.Fields(text)[0] || string(c.Args) != args) {
			t.Errorf("%q is read as %v, %v", text, c, err)
		}
	}
}

// The workers in the protocol's page must be those that are tested.
func TestThePageHasTheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/worker-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, language := range map[string]string{"words.py": "python", "words.pl": "perl"} {
		if _, text := example(t, name); !strings.Contains(string(page), "\n```"+language+"\n"+text+"```\n") {
			t.Errorf("docs/worker-protocol.md has another text of examples/workers/%s; copy it there", name)
		}
	}
}
