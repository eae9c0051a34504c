package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// mutant is a bug to be planted.
type mutant struct {
	Name       string // of a bug that others had: project-number-what
	What       string // the bug, in a line
	Edits      []edit
	Check      check
	Invariant  string // by which it must be caught
	Says       string // a pattern of what the failing check must say; of a chaos case, the invariant is enough
	Equivalent string // why nothing can be seen of it; such a one is not run

	Sim []search // in the designs in which the simulation plays its code
}

// edit replaces a passage of a file by another.
type edit struct {
	File string // from the module's root
	Old  string // stands there exactly once
	New  string
}

// check is what must catch a mutant: a test, or a chaos case.
type check struct {
	Package string   // of the test, from the module's root
	Run     string   // as go test -run takes it
	Args    []string // more, for the test's binary
	Case    string   // a file of testdata, instead of a test
	Seeds   int      // of the case, tried one after the other until one finds it; at least one
}

// command is how a person runs the check.
func (c check) command() string {
	if c.Case != "" {
		return "go run ./cmd/pulley chaos --replay chaos/mutants/testdata/" + c.Case
	}
	return strings.Join(append([]string{"go test ./" + c.Package + " -run '" + c.Run + "'"}, c.Args...), " ")
}

// table lists all mutants.
func table() []mutant {
	return slices.Concat(coreMutants(), storeMutants(), pushMutants(), engineMutants(), otherEngineMutants())
}

// validate says all that is wrong with a mutant, its files included.
func (m mutant) validate(root string) error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("mutant %s: "+format, append([]any{m.Name}, args...)...))
	}
	if m.Name == "" || m.What == "" || m.Invariant == "" || len(m.Edits) == 0 {
		bad("needs a name, a description, an invariant and an edit")
	}
	if (m.Check.Case == "") == (m.Check.Package == "" || m.Check.Run == "") {
		bad("needs a test or a chaos case")
	}
	if m.Check.Case == "" && m.Says == "" {
		bad("needs words that the failing test must say")
	}
	if m.Check.Case != "" {
		if _, err := os.Stat(casePath(root, m.Check.Case)); err != nil {
			bad("%w", err)
		}
	}
	if _, err := regexp.Compile(m.Says); err != nil {
		bad("%w", err)
	}
	if _, err := m.mutated(root); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func casePath(root, name string) string {
	return filepath.Join(root, "chaos", "mutants", "testdata", name)
}

// mutated gives the changed texts, by file.
func (m mutant) mutated(root string) (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.Edits {
		text, known := texts[e.File]
		if !known {
			content, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
			}
			text = string(content)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("mutant %s: what it replaces stands %d times in %s, must be once; bring it up to date:\n%s", m.Name, n, e.File, e.Old)
		}
		texts[e.File] = strings.Replace(text, e.Old, e.New, 1)
		if e.Old == e.New {
			return nil, fmt.Errorf("mutant %s: an edit of %s changes nothing", m.Name, e.File)
		}
	}
	return texts, nil
}
