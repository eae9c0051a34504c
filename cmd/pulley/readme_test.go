package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pulley/cmd/pulley/console"
)

const root = "../.."

// TestTheReadmeIsTrue runs the commands of the README whose output is always the same, and looks for
// the files that it refers to.
func TestTheReadmeIsTrue(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	readme := string(data)
	programs := regexp.MustCompile("(?s)```python\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(programs) != 5 {
		t.Fatalf("the README shows %d programs, not 5", len(programs))
	}
	if text, err := os.ReadFile(pipeline); err != nil || string(text) != programs[0][1] {
		t.Errorf("the first program is not %s (%v)", pipeline, err)
	}
	if got := run(t, nil, "graph", file(t, "visit.ir", programs[1][1])); got.code != 0 {
		t.Errorf("the second program does not compile: %s", got.err)
	}
	if text, err := os.ReadFile(exampleFlow); err != nil || !strings.Contains(string(text), programs[2][1]) {
		t.Errorf("the third program is not a part of %s (%v)", exampleFlow, err)
	}
	sums := file(t, "sums.ir", programs[3][1])
	const input = `{"fan_out": 6, "loop_iters": 2}`
	const wordsInput = `{"texts": ["hello there", "hi"]}`
	for _, c := range []struct {
		shown string
		args  []string
	}{
		{"pulley run scenarios/programs/pipeline.ir --input '" + input + "' --format json",
			[]string{"run", pipeline, "--input", input, "--format", "json"}},
		{"pulley run examples/pipeline/pipeline.ir --actions examples/pipeline/actions.yaml --input '" + input + "' --format json",
			[]string{"run", filepath.Join(root, "examples/pipeline/pipeline.ir"), "--actions", filepath.Join(root, "examples/pipeline/actions.yaml"), "--input", input, "--format", "json"}},
		{"pulley run examples/workers/words.ir --actions examples/workers/actions.yaml --input '" + wordsInput + "' --format json",
			[]string{"run", filepath.Join(root, "examples/workers/words.ir"), "--actions", filepath.Join(root, "examples/workers/actions.yaml"), "--input", wordsInput, "--format", "json"}},
		{"pulley graph sums.ir", []string{"graph", sums}},
		{"pulley forecast fanout=500 --workers 16 --service exp:10ms",
			[]string{"forecast", "fanout=500", "--workers", "16", "--service", "exp:10ms", "--out", t.TempDir()}},
	} {
		got := run(t, nil, c.args...)
		want := "$ " + c.shown + "\n" + strings.ReplaceAll(got.out, sums, "sums.ir") + "```"
		if got.code != 0 || !strings.Contains(readme, want) {
			t.Errorf("exit status %d; the README does not show\n%s", got.code, want)
		}
	}
	links := regexp.MustCompile(`\[[^\]]*\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme, -1)
	if len(links) == 0 {
		t.Error("no link was found")
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join(root, link[1])); err != nil {
			t.Errorf("a link leads nowhere: %v", err)
		}
	}
}

// TestReadmeScenario takes the README's own scenario out of it, checks it, and then plants the mistakes that it shows.
func TestReadmeScenario(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(begin string) string {
		_, rest, found := strings.Cut(string(text), begin)
		body, _, ended := strings.Cut(rest, "```\n")
		if !found || !ended {
			t.Fatalf("the README has no block that begins with %q", begin)
		}
		return begin + body
	}
	dir := t.TempDir()
	t.Chdir(dir)
	scenario, program := block("about: Orders that are charged, with retries"), block("fn handle(input: [order, region]")
	write := func(scenario, program string) {
		for name, text := range map[string]string{"orders.yaml": scenario, "orders.ir": program} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(scenario, program)
	if got := call(t, nil, "scenarios", "check", "orders.yaml"); got.code != 0 {
		t.Errorf("exit status %d: %s", got.code, got.err)
	}
	write(strings.Replace(scenario, "lognormal", "lognorm", 1), strings.Replace(program, "@charge", "@chrage", 1))
	shown := block("orders.ir:2:15: @chrage")
	if got := call(t, nil, "scenarios", "check", "orders.yaml"); got.code != console.ExitUsage || got.err != shown {
		t.Errorf("exit status %d:\n%s\nthe README says\n%s", got.code, got.err, shown)
	}
}
