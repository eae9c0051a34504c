package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/cmd/pulley/stored"
	"pulley/engine/backend/designs"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

const pipeline = "../../scenarios/programs/pipeline.ir"

// Chunk 0 holds an item whose score is not above 0 and counts for nothing; chunk 1 is 30 + 40 + 50.
func TestSameResultOnEveryBackend(t *testing.T) {
	t.Parallel()
	const input = `{"fan_out": 6, "loop_iters": 2}`
	const want = `{"status":"completed","result":120,"error":null}` + "\n"
	dsn := pgtest.DSN(t)
	for _, backend := range []string{"memory", "push", "push:batch=1", "push:shards=1:connections=2", "journal", "journal:batch=1", "eager", "eager:batch=1", "pull", "pull:scan=app", "pull:scan=sql"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			args := []string{"run", pipeline, "--input", input, "--backend", backend, "--format", "json"}
			if backend != "memory" {
				args = append(args, "--dsn", dsn, "--schema", pgtest.Schema(t))
			}
			got := call(t, nil, args...)
			if got.code != 0 || got.out != want || got.err != "" {
				t.Errorf("exit status %d, output %q, errors %q", got.code, got.out, got.err)
			}
		})
	}
}

func TestDefaultSchemas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"push": "pulley_push", "push:batch=1": "pulley_push", "pull": "pulley_pull", "pull:scan=app:batch=2": "pulley_pull",
		"pull:batch=2:scan=sql": "pulley_pull_sql", "eager": "pulley_eager", "journal": "pulley_journal",
	} {
		spec, err := designs.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := stored.SchemaOf(spec); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

var outcomes = []struct {
	name, program, input string
	code                 int
	json, text           string
}{
	{"ints stay ints, of any size",
		"fn main(input: [x], output: [y]):\n    y = @double(value=x)\n", `{"x": 100000000000000000000}`, 0,
		`{"status":"completed","result":200000000000000000000,"error":null}`, "completed: 200000000000000000000"},
	{"floats stay floats",
		"fn main(input: [x], output: [y]):\n    y = @double(value=x)\n", `{"x": 0.5}`, 0,
		`{"status":"completed","result":1.0,"error":null}`, "completed: 1.0"},
	{"text as it is",
		"fn main(input: [x], output: [x]):\n    pass\n", `{"x": "<é&\u0000\n>"}`, 0,
		`{"status":"completed","result":"<é&\u0000\n>","error":null}`, `completed: "<é&\u0000\n>"`},
	{"no value",
		"fn main(input: [], output: [x]):\n    x = None\n", `{}`, 0,
		`{"status":"completed","result":null,"error":null}`, "completed: null"},
	{"several values",
		"fn main(input: [], output: [a, b]):\n    a, b = parallel:\n        @add(a=1, b=2)\n        @items(count=2)\n", `{}`, 0,
		`{"status":"completed","result":[3,[0,1]],"error":null}`, "completed: [3,[0,1]]"},
	{"retries",
		"fn main(input: [], output: [n]):\n    n = @flaky(times=2) [retry: 2, backoff: 1ms]\n", `{}`, 0,
		`{"status":"completed","result":3,"error":null}`, "completed: 3"},
	{"a failed action",
		"fn main(input: [], output: [n]):\n    n = @fail(type=\"Declined\", message=\"no\\nmoney\")\n", `{}`, 1,
		`{"status":"failed","result":null,"error":{"type":"Declined","message":"no\nmoney","action":"fail","position":"FILE:2:9"}}`,
		"failed: Declined: no money"},
	{"a failed expression",
		"fn main(input: [x], output: [y]):\n    y = 1 // x\n", `{"x": 0}`, 1,
		`{"status":"failed","result":null,"error":{"type":"ExpressionError","message":"floored division by zero","action":"","position":"FILE:2:9"}}`,
		"failed: ExpressionError: floored division by zero at FILE:2:9"},
	{"a failed action in an element, after its retries",
		"fn f(input: [i], output: [n]):\n    n = @flaky(times=i) [retry: 2]\n\nfn main(input: [], output: [n]):\n    n = spread range(4):i -> f(i=i)\n", `{}`, 1,
		`{"status":"failed","result":null,"error":{"type":"Flaky","message":"attempt 3 of 3 that fail","action":"flaky","position":"FILE:2:9"}}`,
		"failed: Flaky: attempt 3 of 3 that fail (@flaky) at FILE:2:9"},
	{"a timeout",
		"fn main(input: [], output: [n]):\n    n = @sleep(ms=3600000) [timeout: 20ms]\n", `{}`, 1,
		`{"status":"failed","result":null,"error":{"type":"Timeout","message":"action sleep took longer than its timeout of 20ms","action":"sleep","position":"FILE:2:9"}}`,
		"failed: Timeout: action sleep took longer than its timeout of 20ms (@sleep) at FILE:2:9"},
	{"an error in a handler",
		"fn main(input: [], output: [n]):\n    try:\n        @fail(type=\"A\", message=\"\")\n    except A as e:\n        n = @fail(type=\"B\", message=e[\"action\"])\n", `{}`, 1,
		`{"status":"failed","result":null,"error":{"type":"B","message":"fail","action":"fail","position":"FILE:5:13"}}`,
		"failed: B: fail (@fail) at FILE:5:13"},
	{"an oversized result",
		"fn main(input: [], output: [x]):\n    x = @items(count=100000)\n    x = [x, x, x]\n", `{}`, 1,
		`{"status":"failed","result":null,"error":{"type":"LimitExceeded","message":"`, "failed: LimitExceeded: "},
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range outcomes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			prog := file(t, "p.ir", c.program)
			for format, want := range map[string]string{"json": c.json, "text": c.text} {
				got := call(t, nil, "run", prog, "--input", c.input, "--backend", "memory", "--format", format)
				if got.code != c.code || got.err != "" {
					t.Errorf("%s: exit status %d, want %d; errors %q", format, got.code, c.code, got.err)
				}
				want = strings.ReplaceAll(want, "FILE", prog)
				if !strings.HasPrefix(got.out, want) || strings.Count(got.out, "\n") != 1 {
					t.Errorf("%s: got %q, want %q", format, got.out, want)
				}
			}
		})
	}
}

func TestWaysToGiveTheInput(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [x], output: [y]):\n    y = @add(a=x, b=1)\n")
	in := file(t, "in.json", `{"x": 1}`)
	for _, c := range []struct {
		name, stdin string
		args        []string
	}{
		{"on the command line", "", []string{prog, "--input", `{"x": 1}`}},
		{"from a file", "", []string{prog, "--input", "@" + in}},
		{"from standard input", `{"x": 1}`, []string{prog, "--input", "-"}},
		{"program from standard input", "fn main(input: [x], output: [y]):\n    y = @add(a=x, b=1)\n", []string{"-", "--input", "@" + in}},
	} {
		got := call(t, strings.NewReader(c.stdin), append([]string{"run", "--backend", "memory"}, c.args...)...)
		if got.code != 0 || got.out != "completed: 2\n" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	cmd := command(t, "run", "--backend", "memory", prog, "--input", "-")
	cmd.Stdin = strings.NewReader(`{"x": 1}`)
	if got := outcomeOf(t, cmd); got.code != 0 || got.out != "completed: 2\n" {
		t.Errorf("%+v", got)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	const adds = "fn main(input: [x], output: [y]):\n    y = @add(a=x, b=1)\n"
	prog := file(t, "p.ir", adds)
	big := strings.Repeat("# a comment\n", 100_000)
	for i, c := range []struct {
		name  string
		args  []string
		parts []string
	}{
		{"no such file", []string{"nowhere.ir"}, []string{"pulley: nowhere.ir: no such file or directory; name a file"}},
		{"a directory", []string{"."}, []string{"pulley: .: this is a directory"}},
		{"no such device", []string{filepath.Join(prog, "p.ir")}, []string{"not a directory"}},
		{"a binary file", []string{os.Args[0]}, []string{os.Args[0] + ":"}},
		{"an endless file", []string{"/dev/zero"}, []string{"/dev/zero:1:1: ", "1048576"}},
		{"an empty program", []string{file(t, "p.ir", "")}, []string{"p.ir:1:1: "}},
		{"a program of comments", []string{file(t, "p.ir", "# nothing\n")}, []string{"p.ir:"}},
		{"a huge program", []string{file(t, "p.ir", big)}, []string{"p.ir:1:1: ", "1048576"}},
		{"a malformed program", []string{file(t, "p.ir", "fn main(input: [x], output: [y]):\n    y = @add(a=x b=1)\n")}, []string{"p.ir:2:18: "}},
		{"a name without value", []string{file(t, "p.ir", "fn main(input: [x], output: [y]):\n    y = z\n")}, []string{"p.ir:2:9: ", "z"}},
		{"too large a graph", []string{prog, "--limit", "nodes=2"}, []string{"p.ir: ", "over the limit of 2"}},
		{"JSON that ends", []string{prog, "--input", `{"x": `}, []string{"pulley: --input: JSON at byte 6: ", "the workflow takes x"}},
		{"JSON of another kind", []string{prog, "--input", `[1]`}, []string{"pulley: --input: a JSON object is wanted", "the workflow takes x"}},
		{"an input too many", []string{prog, "--input", `{"x": 1, "z": 2}`}, []string{`"z" is not an input of the workflow`}},
		{"an input too few", []string{prog}, []string{`"x" is missing; the workflow takes x`}},
		{"no such input file", []string{prog, "--input", "@nowhere.json"}, []string{"pulley: nowhere.json: no such file or directory"}},
		{"malformed input file", []string{prog, "--input", "@" + file(t, "in.json", "{\n  'x': 1}")}, []string{"in.json: JSON at byte 4: "}},
		{"an oversized input", []string{prog, "--input", "@" + file(t, "in.json", `{"x": "`+strings.Repeat("x", 1<<20)+`"}`)}, []string{"in.json: ", "1048576"}},
		{"an endless input", []string{prog, "--input", "@/dev/zero"}, []string{"/dev/zero: ", "1048576"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, format := range depth.Of([]string{[]string{"json", "text"}[i%2]}, []string{"json", "text"}) {
				// The default backend: a refusal comes before a server is looked for.
				got := call(t, nil, append([]string{"run", "--format", format}, c.args...)...)
				if got.code != console.ExitUsage || got.out != "" {
					t.Errorf("exit status %d, output %q", got.code, got.out)
				}
				wantLine(t, got.err, c.parts...)
			}
		})
	}
}

func TestEveryUnknownActionIsNamed(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", "fn main(input: [], output: []):\n    @fetch_item(count=1)\n    @nowhere.to.be.found()\n")
	got := call(t, nil, "run", prog, "--format", "json")
	lines := strings.Split(strings.TrimSuffix(got.err, "\n"), "\n")
	if got.code != console.ExitUsage || got.out != "" || len(lines) != 3 {
		t.Fatalf("%+v", got)
	}
	wantParts(t, lines[0], prog+":2:5: unknown action @fetch_item; did you mean @fetch_items?")
	wantParts(t, lines[1], prog+":3:5: unknown action @nowhere.to.be.found; ")
	wantParts(t, lines[2], "pulley: the actions are @add, ", "@fetch_items, ", "@validate_chunk")
}
