package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"pulley/cmd/pulley/console"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/internal/pgtest"
)

const echoes = "fn main(input: [n], output: [x]):\n    x = @echo(value=n)\n    return x\n"

func TestSubmit(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", echoes)
	other := file(t, "other.ir", "fn main(input: [n], output: [x]):\n    x = n\n    return x\n")
	for _, design := range designs.Durable() {
		t.Run(design.String(), func(t *testing.T) {
			t.Parallel()
			where := []string{"--backend", design.String(), "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
			submit := func(stdin string, args ...string) result {
				t.Helper()
				return call(t, strings.NewReader(stdin), append(append([]string{"submit"}, args...), where...)...)
			}
			id := backend.IDOfKey("order-17").String()
			if got := submit("", prog, "--input", `{"n": 3}`, "--key", "order-17"); got != (result{out: id + "\n"}) {
				t.Errorf("first: %+v", got)
			}
			if got := submit("", prog, "--input", `{ "n":3}`, "--key", "order-17", "--format", "json"); got != (result{out: `{"id":"` + id + `","created":false}` + "\n"}) {
				t.Errorf("again: %+v", got)
			}
			for what, got := range map[string]result{
				"input": submit("", prog, "--input", `{"n": 4}`, "--key", "order-17"), "program": submit("", other, "--input", `{"n": 3}`, "--key", "order-17"),
			} {
				if got.code != console.ExitUsage || got.out != "" {
					t.Errorf("another %s: %+v", what, got)
				}
				wantLine(t, got.err, "pulley: --key: under this key there is instance "+id+", of another "+what+"; choose another key")
			}
			batch := submit("{\"n\": 1}\n\n{\"n\": 2}", prog, "--batch", "-")
			ids := strings.Fields(batch.out)
			if batch.code != 0 || len(ids) != 2 || !strings.HasPrefix(batch.err, "pulley: 2 instances stored, 0 were there, in ") {
				t.Fatalf("batch: %+v", batch)
			}
			work := command(t, append([]string{"work"}, where...)...)
			if err := work.Start(); err != nil {
				t.Fatal(err)
			}
			for n, id := range map[int]string{1: ids[0], 2: ids[1], 3: id} {
				if got := call(t, nil, append([]string{"wait", id}, where...)...); got != (result{out: fmt.Sprintf("completed: %d\n", n)}) {
					t.Errorf("wait: %+v", got)
				}
			}
			if err := work.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if code := exitStatus(t, work.Wait()); code != 128+int(syscall.SIGTERM) {
				t.Errorf("work ended with %d", code)
			}
		})
	}
}

func TestSubmitABatchAgain(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", echoes)
	where := []string{"--keyed", "--format", "json", "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
	submit := func(lines string) result {
		t.Helper()
		return call(t, strings.NewReader(lines), append([]string{"submit", prog, "--batch", "-"}, where...)...)
	}
	line := func(key string, n int) string { return fmt.Sprintf("{\"key\":%q,\"input\":{\"n\":%d}}\n", key, n) }
	said := func(key string, created bool) string {
		return fmt.Sprintf("{\"id\":\"%s\",\"created\":%t}\n", backend.IDOfKey(key), created)
	}
	if got := submit(line("a", 1) + line("b", 2) + line("a", 1)); got.code != 0 || got.out != said("a", true)+said("b", true)+said("a", false) {
		t.Errorf("first: %+v", got)
	}
	cut := submit(line("c", 3) + line("b", 2) + "{\"key\":\"d\",\"input\":{\"m\":1}}\n" + line("e", 5))
	if cut.code != console.ExitUsage || cut.out != said("c", true)+said("b", false) {
		t.Errorf("cut off: %+v", cut)
	}
	wantParts(t, cut.err, "pulley: <stdin>:3: ", `"m" is not an input`)
	if got := submit(line("c", 3) + line("d", 4)); got.code != 0 || got.out != said("c", false)+said("d", true) {
		t.Errorf("continued: %+v", got)
	}
	if got := submit(line("f", 6) + line("b", 3)); got.code != console.ExitUsage || got.out != "" {
		t.Errorf("another input: %+v", got)
	} else {
		wantParts(t, got.err, "<stdin>: the lines up to 3: <stdin>:2: under this key there is instance", "of another input")
	}
}

func TestSubmitRefusals(t *testing.T) {
	t.Parallel()
	prog := file(t, "p.ir", echoes)
	for _, c := range []struct {
		stdin string
		args  []string
		parts []string
	}{
		{"", []string{prog, "--key", ""}, []string{"--key: a key has 1 to 1000 bytes, not 0"}},
		{"", []string{prog, "--key", strings.Repeat("k", 1001)}, []string{"not 1001"}},
		{"", []string{prog, "--keyed"}, []string{"--keyed is for --batch"}},
		{"", []string{prog, "--batch", "-", "--key", "k"}, []string{"leave --input and --key out"}},
		{"", []string{"-", "--batch", "-"}, []string{"standard input cannot be both"}},
		{"", []string{prog, "--backend", "memory"}, []string{"backend memory keeps nothing for another command"}},
		{"", []string{prog, "--input", "{}"}, []string{`--input: "n" is missing`}},
		{"", []string{prog, "--input", `{"n": 1}`}, []string{"give --dsn DSN, or set PULLEY_DSN"}},
		{"", []string{prog, "--batch", "no such file"}, []string{"--batch no such file: no such file or directory"}},
	} {
		got := call(t, strings.NewReader(c.stdin), append([]string{"submit"}, c.args...)...)
		if got.code != console.ExitUsage || got.out != "" {
			t.Errorf("%v: %+v", c.args, got)
		}
		wantLine(t, got.err, c.parts...)
	}
	where := []string{"submit", prog, "--batch", "-", "--dsn", pgtest.DSN(t), "--schema", pgtest.Schema(t)}
	for stdin, part := range map[string]string{
		"nonsense\n": "<stdin>:1: ", "{\"n\":1}\n{\"n\":1,\"n\":2}\n": `<stdin>:2: the key "n" is there twice`,
		"{\"n\":\"" + strings.Repeat("x", 3<<20) + "\"}\n": "<stdin>:1: the line is too long",
	} {
		got := call(t, strings.NewReader(stdin), where...)
		if got.code != console.ExitUsage {
			t.Errorf("%.20q: %+v", stdin, got)
		}
		wantParts(t, got.err, part)
	}
	got := call(t, strings.NewReader("{\"key\":\"k\",\"extra\":1,\"input\":{\"n\":1}}\n"), append(where, "--keyed")...)
	if got.code != console.ExitUsage {
		t.Errorf("%+v", got)
	}
	wantParts(t, got.err, `<stdin>:1: with --keyed a line is {"key":TEXT,"input":{…}}`)
}
