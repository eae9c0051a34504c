package python_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pulley/engine/ir"
	"pulley/internal/depth"
	"pulley/python"
)

func pretend(t *testing.T, script string) *python.Interpreter {
	t.Helper()
	depth.Needs(t, "other processes")
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(python.Variable, path)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	i, err := python.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

func TestSplitTarget(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]struct {
		file, class string
		is          bool
	}{
		"flow.py": {"flow.py", "", true}, "flow.py:A": {"flow.py", "A", true}, "a:b/flow.py": {"a:b/flow.py", "", true},
		"a:b/flow.py:A": {"a:b/flow.py", "A", true}, "flow.ir": {"flow.ir", "", false}, "-": {"-", "", false}, "flow.ir:A": {"flow.ir:A", "", false},
	} {
		file, class, is := python.SplitTarget(target)
		if file != want.file || class != want.class || is != want.is {
			t.Errorf("%s: %q, %q, %v", target, file, class, is)
		}
	}
}

const answer = `{"program": "fn main(input: [n], output: [x]):\n    x = n + 1\n    @f(x=x)\n",
"positions": [[3, 5, "flow.py", 30, 9], [2, 5, "flow.py", 20, 9], [1, 1, "flow.py", 10, 5], [2, 9, "flow.py", 20, 13]], "workflow": "Flow", "errors": [{"pattern": "key \"([^\"]*)\" not in dict", "type": "KeyError", "message": "'$1'"}, {"pattern": "by zero", "type": "ZeroDivisionError", "message": "division by zero"}], "actions": [{"name": "f", "retry": 2}]}`

func TestCompile(t *testing.T) {
	i := pretend(t, "shift 3; [ \"$*\" = 'compile flow.py --json' ] || exit 9\ncat <<'END'\n"+answer+"\nEND\n")
	s, err := i.Compile(t.Context(), "flow.py")
	if err != nil {
		t.Fatal(err)
	}
	if s.Workflow != "Flow" || len(s.Actions) != 1 || s.Actions[0].Name != "f" {
		t.Errorf("got %+v", s)
	}
	for _, c := range [][4]string{
		{"ExpressionError", `key "a" not in dict`, "KeyError", "'a'"}, {"ExpressionError", "by zero", "ZeroDivisionError", "division by zero"},
		{"ExpressionError", "not by zero", "ExpressionError", "not by zero"}, {"Declined", "by zero", "Declined", "by zero"},
	} {
		if typ, message := s.Error(c[0], c[1]); typ != c[2] || message != c[3] {
			t.Errorf("%s: %s became %s: %s", c[0], c[1], typ, message)
		}
	}
	p, err := s.Parse("flow.py", ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, stmt := range p.Functions[0].Body {
		places = append(places, stmt.Position().String())
	}
	if want := []string{"flow.py:20:9", "flow.py:30:9"}; !slices.Equal(places, want) {
		t.Errorf("places %v, want %v", places, want)
	}
	s.Text = strings.Replace(s.Text, "n + 1", "n + + x y", 1)
	_, err = s.Parse("flow.py", ir.Limits{})
	if err == nil || !strings.HasPrefix(err.Error(), "flow.py:20:13: ") {
		t.Errorf("got %v", err)
	}
	if got := (&python.Source{}).Place(ir.Pos{File: "flow.py", Line: 7, Col: 7}).String(); got != "flow.py:1:1" {
		t.Errorf("without positions: %s", got)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name, script string
		refused      bool
		want         string
	}{
		{"mistakes", "echo 'flow.py:3:5: a' >&2; echo 'flow.py:4:5: b' >&2; exit 2", true, "flow.py:3:5: a\nflow.py:4:5: b"},
		{"our prefix", "echo 'pulley: flow.py: there are 2 workflows' >&2; exit 2", true, "flow.py: there are 2 workflows"},
		{"a bug", "printf 'Traceback (most recent call last):\\n  File\\nKeyError: 1\\n' >&2; exit 1", false, "KeyError: 1; this is a bug in pulley, please report it"},
		{"silence", "exit 3", true, "flow.py: Python's compiler ended with status 3"},
		{"no JSON", "echo hello", false, "flow.py: the compiler's answer cannot be read"},
		{"killed", "kill -9 $$", false, "ended by signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := pretend(t, c.script).Compile(t.Context(), "flow.py")
			var refusal *python.Refusal
			if err == nil || errors.As(err, &refusal) != c.refused || !strings.Contains(err.Error(), c.want) {
				t.Errorf("refused %v: %v", refusal != nil, err)
			}
		})
	}
	t.Run("given up", func(t *testing.T) {
		i := pretend(t, "exec sleep 3600")
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if _, err := i.Compile(ctx, "flow.py"); !errors.Is(err, why) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoInterpreter(t *testing.T) {
	t.Setenv(python.Variable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := python.Open(); err == nil || !strings.Contains(err.Error(), "python3, which is not in PATH; install Python 3.9 or later, or name it in PULLEY_PYTHON") {
		t.Errorf("got %v", err)
	}
	t.Setenv(python.Variable, "/nowhere/python")
	if _, err := python.Open(); err == nil || err.Error() != "PULLEY_PYTHON names /nowhere/python, which cannot be run: no such file or directory" {
		t.Errorf("got %v", err)
	}
}

func TestInstall(t *testing.T) {
	t.Setenv(python.Variable, "/bin/sh")
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	dirs := make([]string, 8)
	var all sync.WaitGroup
	for n := range dirs {
		all.Go(func() {
			i, err := python.Open()
			if err != nil {
				t.Error(err)
				return
			}
			dirs[n] = i.Environ()["PYTHONPATH"]
			if err := i.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	dir, _, _ := strings.Cut(dirs[0], string(os.PathListSeparator))
	for _, d := range dirs {
		if d != dirs[0] || !strings.HasPrefix(d, cache) {
			t.Errorf("unpacked to %s", d)
		}
	}
	if kept, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(kept) != 1 {
		t.Errorf("the cache has %v: %v", kept, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pulley", "loading.py"), []byte("changed"), 0o644); err != nil {
		t.Fatal(err)
	}
	temporary(t, cache)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(file, "cache"))
	temporary(t, cache)
}

// temporary expects a package outside of the cache, which Close removes.
func temporary(t *testing.T, cache string) {
	t.Helper()
	i, err := python.Open()
	if err != nil {
		t.Fatal(err)
	}
	dir, _, _ := strings.Cut(i.Environ()["PYTHONPATH"], string(os.PathListSeparator))
	if strings.HasPrefix(dir, cache) {
		t.Errorf("%s is used", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, "pulley", "worker", "__init__.py")); err != nil {
		t.Error(err)
	}
	if err := i.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
