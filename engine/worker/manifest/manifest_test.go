package manifest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pulley/engine/backend"
	"pulley/engine/worker"
	"pulley/internal/depth"
)

func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		file := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(files[i+1]), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

const good = `
x-shared: &shared {limits: {time: 10m, output: 1MB, memory: 1GiB, open_files: 100, processes: 20}, grace: 0s}
actions:
  x-note: not an action
  files.count:
    <<: *shared
    process: [./count.sh, "*", 7, ""]
    dir: below
    env: {GREETING: "a b", NUMBER: 7}
    at_once: 3
    args: [word]
    doc: says what it was given
  log:
    process: [sh, -c, 'echo one >&2; echo "$0"', "\"x y\""]
  nothing: {process: [echo, "null"], args: []}
`

func TestOpen(t *testing.T) {
	depth.Needs(t, "other processes")
	t.Parallel()
	file := write(t, "actions.yaml", good, "below/count.sh", "#!/bin/sh\nread -r line\nprintf '[\"%s\",\"%s\",\"%s\",%s,\"%s %s\",%s,\"%s\"]' \"$1\" \"$2\" \"$3\" \"$line\" \"$GREETING\" \"$NUMBER\" \"$#\" \"${PWD##*/}\"\n")
	var mu sync.Mutex
	var logged []string
	m, err := Open(file, Options{Log: func(action, line string) {
		mu.Lock()
		defer mu.Unlock()
		logged = append(logged, action+": "+line)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if got := m.Grace(); got != 2*time.Second {
		t.Errorf("the longest grace is %v, want the default, since the file has none but 0s", got)
	}
	reg, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Register(reg); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ action, args, want string }{
		{"files.count", `{"word":"ü"}`, `["*","7","",{"word":"ü"},"a b 7",3,"below"]`},
		{"files.count", `{"wrd":"ü"}`, "ArgumentError: action files.count: unknown argument wrd; it takes word"},
		{"log", `{"any": 1}`, `"x y"`},
		{"nothing", `{}`, "null"},
		{"nothing", `{"a": 1}`, "ArgumentError: action nothing: unknown argument a; it takes none"},
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
	if !slices.Equal(logged, []string{"log: one"}) {
		t.Errorf("told were %q", logged)
	}
	if a := m.Actions()[0]; a.Name != "files.count" || a.Doc != "says what it was given" {
		t.Errorf("the first action is %+v", a)
	}
	if err := m.Register(reg); err == nil || err.Error() != "actions file "+file+": action files.count is registered already" {
		t.Errorf("a second time, Register gives %v", err)
	}
}

// All mistakes of a file must be reported with their lines.
func TestMistakesAreReportedAtOnce(t *testing.T) {
	depth.Needs(t, "other processes")
	t.Parallel()
	for text, want := range map[string]string{
		"actions:\n  a b: {process: [sh]}\n  b: {pocess: [sh]}\n  c: {process: sh -c x}\n  d: 7\n  e: {process: []}\n": `
2:3: "a b" is not an action's name: write letters, digits, _ and single dots, as in mail.send
3:3: action b does not say what runs it; write process: [program, argument, …], worker: NAME, or job: SERVER
3:7: action b has no key "pocess"; did you mean process?
4:16: process is a list of the program and its arguments, not a text; no shell takes a line apart: write [program, argument, …]
5:6: action d is a map of keys and values, not a whole number; its keys are process, worker, job, args, doc, dir, env, limits, at_once, grace
6:16: the command is empty; write [program, argument, …]`,
		"actions:\n  a:\n    process: [sh, [x]]\n    args: [a.b, 7]\n    dir: nowhere\n    env: {A=B: 1, PULLEY_KEY: x, C: [1]}\n    at_once: 0\n    grace: 5\n": `
3:19: a word of a command is a text, not a list; write one
4:12: "a.b" is not an argument's name: write letters, digits and _
4:17: "7" is not an argument's name: write letters, digits and _
5:10: there is no directory DIR/nowhere; make it, or name another
6:11: "A=B" cannot be a variable of the environment; write a name without = and zero bytes
6:19: the variable PULLEY_KEY is pulley's to set; choose a name that does not begin with PULLEY_
6:37: the variable C is a text, not a list; write one
7:14: at_once is 0; choose from 1 to 100000
8:12: grace is a time, not a whole number "5"; write one like 30s or 100ms`,
		"actions:\n  a:\n    process: [sh]\n    limits: {time: 0s, output: 0, memory: 1XB, open_files: -1, processes: 1.5, cpu: 1}\n": `
4:20: time is zero; choose more
4:32: output is 0 bytes; choose from 1 to 2147483647
4:43: memory is a size, not a text "1XB"; write one like 512B, 4kB or 1.5MiB
4:60: open_files is -1; choose from 1 to 2147483647
4:75: processes is a whole number, not a number "1.5"; write one without quotes
4:80: limits has no key "cpu"; its keys are time, output, memory, open_files, processes`,
		"actions:\n  a: {process: [nosuchprogram]}\n  b: {process: [./none.sh]}\n  c: {process: [sh]}\n": `
2:16: there is no program nosuchprogram; check the name, and PATH
3:16: there is no program DIR/none.sh; check the name, and PATH`,
		"action: {}\n":                  "\n1:1: an actions file has no key \"action\"; did you mean actions?\n1:1: the file has no actions; write some below the key actions",
		"- 1\n":                         "\n1:1: an actions file is a map of keys and values, not a list; its keys are actions, workers, jobs",
		"":                              "\n1:1: the file is empty; it holds a map of keys and values",
		"actions: {a: {process: ['']}}": "\n1:25: the program's name is empty; write one",
		"actions: 7":                    "\n1:10: actions are a map of names and what they stand for, not a whole number",
	} {
		file := write(t, "actions.yaml", text)
		m, err := Open(file, Options{})
		if err == nil {
			t.Errorf("%q is taken", text)
			_ = m.Close(t.Context())
			continue
		}
		got := "\n" + strings.ReplaceAll(strings.ReplaceAll(err.Error(), file+":", ""), filepath.Dir(file), "DIR")
		if got != want {
			t.Errorf("%q:\ngot %s\nwant %s", text, got, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.yaml"), Options{}); err == nil || !strings.HasSuffix(err.Error(), "none.yaml: no such file or directory") {
		t.Errorf("a file that is not there gives %v", err)
	}
}
