package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"pulley/engine/expr"
	"pulley/internal/depth"
	"pulley/internal/pgtest"
)

func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	all := []string{"README.md"}
	for _, page := range found {
		all = append(all, filepath.Join("docs", filepath.Base(page)))
	}
	return all
}

func pageText(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryBlockHasAKind(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	for _, page := range pages(t) {
		blocks, err := blocksOf(page, pageText(t, page))
		if err != nil {
			t.Error(err)
		}
		for _, b := range blocks {
			kind, err := b.kind()
			if err != nil {
				t.Error(err)
				continue
			}
			if b.has("nightly") {
				kind += " at night"
			}
			counts[kind]++
			if kind == kindNotRun {
				t.Logf("%s is not run: %s", b, b.marks["not run"])
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%d blocks: %s", counts[kind], kind)
	}
}

// Expressions that give something share one program; each that fails has its own.
func TestExamplesOfExpressions(t *testing.T) {
	t.Parallel()
	evaluate := func(expression string) string {
		prog := "fn main(input: [], output: [x]):\n    x = " + expression + "\n"
		got := call(t, strings.NewReader(prog), "run", "-", "--backend", "memory")
		return got.out + got.err
	}
	for _, page := range pages(t) {
		examples := examplesOf(pageText(t, page))
		var give, shown []string
		for _, e := range examples {
			if e.fails == "" {
				give, shown = append(give, e.expr), append(shown, e.gives)
			} else if got := evaluate(e.expr); !strings.HasPrefix(got, "failed: ExpressionError: "+e.fails+" at ") {
				t.Errorf("%s:%d: %s gives %s", page, e.line, e.expr, got)
			}
		}
		if got := evaluate("[" + strings.Join(give, ", ") + "]"); got != "completed: ["+strings.Join(shown, ",")+"]\n" {
			t.Errorf("%s: the expressions give\n%sand the page shows\n%s", page, got, strings.Join(shown, ","))
		}
		if page == filepath.Join("docs", "language.md") {
			for _, name := range expr.Builtins() {
				if !slices.ContainsFunc(examples, func(e example) bool { return strings.HasPrefix(e.expr, name+"(") }) {
					t.Errorf("%s has no example of the function %s", page, name)
				}
			}
		}
	}
}

// TestDocs is the reader: it works through every page from beginning to end, in a directory per page with the repository's
// content. PULLEY_DSN names a Postgres.
func TestDocs(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			depth.Needs(t, "a second process")
			blocks, err := blocksOf(page, pageText(t, page))
			if err != nil {
				t.Fatal(err)
			}
			newReader(t).read(t, blocks)
		})
	}
}

type reader struct {
	dir string
	env []string // nil: no command was run yet
}

func newReader(t *testing.T) *reader {
	t.Helper()
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	binary, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{dir: t.TempDir()}
	entries, err := os.ReadDir(base)
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"pulley": binary}
	for _, e := range entries {
		if e.Name() != "out" && e.Name() != ".git" {
			links[e.Name()] = filepath.Join(base, e.Name())
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil && name != "pulley" {
			t.Fatal(err)
		}
	}
	return r
}

// Pages without a command need no server.
func (r *reader) environment(t *testing.T) []string {
	if r.env == nil {
		r.env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0 halt_on_error=1",
			"PATH="+r.dir+string(os.PathListSeparator)+os.Getenv("PATH"), ownDSN+"="+pgtest.DSN(t))
	}
	return r.env
}

func (r *reader) read(t *testing.T, blocks []block) {
	for _, b := range blocks {
		kind, err := b.kind()
		if err != nil {
			continue // another test says so
		}
		if name := b.marks["file"]; name != "" {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(r.dir, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(r.dir, name), []byte(b.text), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if b.has("nightly") && !depth.Night() {
			continue
		}
		switch kind {
		case kindProgram:
			if got := call(t, strings.NewReader(b.text), "compile", "-"); got.code != 0 {
				t.Errorf("%s does not compile: %s", b, got.err)
			}
		case kindPart:
			if err := standsIn(b); err != nil {
				t.Error(err)
			}
		case kindData:
			var v any
			if err := yaml.Unmarshal([]byte(b.text), &v); err != nil { // JSON is YAML
				t.Errorf("%s: %v", b, err)
			}
		case kindRun:
			r.console(t, b)
		case kindScript:
			for i, line := range strings.Split(strings.TrimSuffix(b.text, "\n"), "\n") {
				if out, status := r.shell(t, line, 0); status != 0 {
					t.Errorf("%s:%d: exit status %d of %s\n%s", b.page, b.line+1+i, status, line, out)
				}
			}
		}
	}
}

func (r *reader) console(t *testing.T, b block) {
	steps, err := b.steps()
	if err != nil {
		t.Error(err)
		return
	}
	status := 0
	for i, s := range steps {
		out, ended := r.shell(t, s.command, status)
		if !agrees(s.want, out, b.has("figures vary")) {
			t.Errorf("%s:%d: $ %sprints\n%s\nand the page shows\n%s", b.page, s.line, s.command, out, s.want)
		}
		status = ended
		if asked := i+1 < len(steps) && steps[i+1].command == "echo $?\n"; status != 0 && !asked {
			t.Errorf("%s:%d: exit status %d of %s%s", b.page, s.line, status, s.command, out)
		}
	}
}

// shell runs a command as a terminal does: before is the status that $? has, and both outputs become one text.
func (r *reader) shell(t *testing.T, line string, before int) (out string, status int) {
	ctx, cancel := context.WithTimeout(t.Context(), depth.Of(deadline, time.Hour))
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", fmt.Sprintf("(exit %d)\n%s", before, line))
	cmd.Dir, cmd.Env = r.dir, r.environment(t)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	status = exitStatus(t, cmd.Run())
	return text.String(), status
}

func standsIn(b block) error {
	name := b.marks["part of"]
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		return fmt.Errorf("%s: %w", b, err)
	}
	if !strings.Contains(unindented(string(text)), unindented(b.text)) {
		return fmt.Errorf("%s is not a part of %s", b, name)
	}
	return nil
}

func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[\t ]+`).ReplaceAllString(text, "")
}

func TestLinksOfThePages(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\[[^\]]*\]\(([^)#: ]*)(#[^) ]*)?\)`)
	fenced := regexp.MustCompile("(?ms)^```.*?^```$")
	for _, page := range append(pages(t), "CHANGELOG.md", "bench/README.md") {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(pageText(t, page), ""), -1) {
			target := page
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[0])
				continue
			}
			if m[2] != "" && !slices.Contains(anchors(pageText(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading %s", page, target, m[2])
			}
		}
	}
}

func anchors(text string) []string {
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(m[1])
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		all = append(all, "#"+strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
