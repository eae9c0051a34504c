package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exported reports whether a package is for those who embed it: no program, and no help for tests.
func exported(name string) bool {
	for _, part := range strings.Split(name, "/") {
		if part == "internal" || part == "cmd" || part == "examples" {
			return false
		}
	}
	return !strings.HasSuffix(name, "test")
}

func withoutExample(root string, names []string) ([]string, error) {
	var found []string
	for _, name := range names {
		if !exported(name) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name), "*.go"))
		if err != nil {
			return nil, err
		}
		program, example := false, false
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			program = program || file.Name.Name == "main"
			example = example || strings.HasSuffix(path, "_test.go") && slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
				f, ok := d.(*ast.FuncDecl)
				return ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Example")
			})
		}
		if !program && !example {
			found = append(found, name+" has no Example function; show in example_test.go what a program that embeds it does with it")
		}
	}
	slices.Sort(found)
	return found, nil
}

func TestEveryPackageHasAnExample(t *testing.T) {
	packages, _ := listPackages(t)
	var names []string
	for name := range packages {
		names = append(names, name)
	}
	missing, err := withoutExample("..", names)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range missing {
		t.Error(m)
	}
}

// The rule can fail, and leaves out what it should.
func TestMissingExamplesAreFound(t *testing.T) {
	root := t.TempDir()
	var names []string
	for path, text := range map[string]string{
		"with/example_test.go":    "package with_test\nfunc Example() {}\n",
		"without/without.go":      "package without\nfunc Example() {}\n",
		"without/without_test.go": "package without\nimport \"testing\"\nfunc TestExample(t *testing.T) {}\n",
		"program/main.go":         "package main\nfunc main() {}\n",
		"helptest/help.go":        "package helptest\n",
		"a/internal/b/b.go":       "package b\n",
		"cmd/c/c.go":              "package c\n",
		"examples/d/d.go":         "package d\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if name := filepath.ToSlash(filepath.Dir(path)); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	got, err := withoutExample(root, names)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], "without has no Example function") {
		t.Errorf("found %q, want the package without", got)
	}
}
