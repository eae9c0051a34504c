package manifest

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

func examples(t *testing.T) string {
	t.Helper()
	depth.Needs(t, "other processes")
	dir, err := filepath.Abs("../../../examples/workers")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Workers are in two languages: all actions of one are used, and of the other those that the file names.
func TestWorkers(t *testing.T) {
	t.Parallel()
	file := write(t, "actions.yaml", `
actions:
  loud: {worker: python, calls: words.shout, args: [text], doc: shouts}
  words.nap: {worker: python}
  echo: {process: [cat]}
workers:
  x-shared: &shared {dir: `+examples(t)+`, deliveries: 2, hello: 1m, silence: 1m, grace: 1s, at_once: 20, env: {MODE: fast}, limits: {memory: 1GiB, open_files: 100, processes: 20}}
  perl: {<<: *shared, command: [perl, words.pl]}
  python: {<<: *shared, command: [python3, words.py], processes: 2, slots: 3}
`)
	m, err := Open(file, Options{Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	reg, err := worker.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(reg); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range m.Actions() {
		names = append(names, a.Name)
	}
	if got := strings.Join(names, " "); got != "echo words.count words.reverse loud words.nap" {
		t.Errorf("the actions are %s", got)
	}
	for _, c := range []struct{ action, args, want string }{
		{"echo", `{"a":1}`, `{"a":1}`},
		{"loud", `{"text":"für"}`, `"FÜR"`},
		{"loud", `{"txt":"für"}`, "ArgumentError: action loud: unknown argument txt; it takes text"},
		{"words.shout", `{"text":"x"}`, "UnknownAction: unknown action @words.shout; did you mean @words.count?"},
		{"words.nap", `{"seconds":0}`, "0"},
		{"words.nap", `{"seconds":"x"}`, "TypeError: '>' not supported between instances of 'str' and 'int'"},
		{"words.reverse", `{"text":"für"}`, `"rüf"`},
		{"words.count", `{"text":"a b c"}`, `3`},
	} {
		result, failure := reg.Execute(t.Context(), backend.Task{Action: c.action, Args: json.RawMessage(c.args), Attempt: 1})
		got := string(result)
		if failure != nil {
			got = failure.Type + ": " + failure.Message
		}
		if got != c.want {
			t.Errorf("@%s(%s) gives %s, want %s", c.action, c.args, got, c.want)
		}
	}
}

// Mistakes of workers have the file's lines, too.
func TestMistakesOfWorkers(t *testing.T) {
	t.Parallel()
	words := `{command: [perl, ` + examples(t) + `/words.pl]}`
	for text, want := range map[string]string{
		"actions:\n  a: {worker: word}\n  b: {worker: words, dir: .}\n  c: {worker: words, process: [sh]}\nworkers:\n  words: {comand: [sh]}\n  a.b: {command: sh}\n  d: {command: [sh], processes: 0, slots: 0, silence: 1, deliveries: 0, hello: 0s}\n  e: {command: [sh], limits: {time: 1s, memory: 0}}\n": `
2:15: there is no worker word; did you mean words?
3:22: action b of a worker has no key "dir"; did you mean doc?
4:15: action c has both process and worker; write one of them
6:3: worker words does not say what runs it; write command: [program, argument, …]
6:11: worker words has no key "comand"; did you mean command?
7:3: "a.b" is not a worker's name: write letters, digits and _
7:18: command is a list of the program and its arguments, not a text; no shell takes a line apart: write [program, argument, …]
8:33: processes is 0; choose from 1 to 1000
8:43: slots is 0; choose from 1 to 100000
8:55: silence is a time, not a whole number "1"; write one like 30s or 100ms
8:70: deliveries is 0; choose from 1 to 100000
8:80: hello is zero; choose more
9:31: limits of worker e has no key "time"; its keys are memory, open_files, processes
9:49: memory is 0 bytes; no program runs in that, so choose more`,
		"actions:\n  a: {worker: words, calls: words.coun}\n  b: {worker: words}\nworkers:\n  words: " + words + "\n": `
2:15: worker words has no action words.coun; did you mean words.count?
3:15: worker words has no action b; its actions are words.count, words.reverse`,
		"workers:\n  a: {command: [nosuchprogram]}\n  b: {command: [sh, -c, 'echo a.py:7: broken >&2; exit 2']}\n  c: " + words + "\n": `
2:16: there is no program nosuchprogram; check the name, and PATH
3:16: no worker of b can be started: it ended with exit status 2 before it said hello: a.py:7: broken`,
		"workers: 7": "\n1:10: workers are a map of names and what they stand for, not a whole number",
	} {
		file := write(t, "actions.yaml", text)
		m, err := Open(file, Options{Context: t.Context()})
		if err == nil {
			t.Errorf("%q is taken", text)
			_ = m.Close(t.Context())
			continue
		}
		if got := "\n" + strings.ReplaceAll(err.Error(), file+":", ""); got != want {
			t.Errorf("%q:\ngot %s\nwant %s", text, got, want)
		}
	}
}
