package python

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// questionMax bounds an answer of Python, which may have to import the user's file.
const questionMax = 5 * time.Minute

var errSlow = fmt.Errorf("python did not answer within %s; look for what the file does when it is imported", questionMax)

// Refusal is an invalid file or input.
type Refusal struct{ Lines []string } // one per mistake, with its position

func (r *Refusal) Error() string { return strings.Join(r.Lines, "\n") }

// Position maps a position in the program's text to one in a Python file.
type Position struct {
	Line, Col int    // in the text, from 1
	File      string // the Python file
	FileLine  int    // from 1
	FileCol   int    // from 1
}

// UnmarshalJSON parses [line, col, file, line, col].
func (p *Position) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.Line, &p.Col, &p.File, &p.FileLine, &p.FileCol})
}

// Action is an action that a workflow may call.
type Action struct {
	Name string `json:"name"`
}

// Translation translates an expression's error to Python: the whole message matches a regular expression.
type Translation struct {
	Pattern string `json:"pattern"`
	Type    string `json:"type"`
	Message string `json:"message"` // $1 is the match of the first group
}

// Source is a workflow of a Python file, translated into the workflow language.
type Source struct {
	Text      string        `json:"program"`
	Positions []Position    `json:"positions"` // sorted by Line and Col
	Workflow  string        `json:"workflow"`  // its name
	Actions   []Action      `json:"actions"`
	Errors    []Translation `json:"errors"` // the first match counts
}

// Error returns Python's type and message of a run's error.
func (s *Source) Error(typ, message string) (string, string) {
	if typ != expr.TypeExpression {
		return typ, message
	}
	for _, t := range s.Errors {
		pattern, err := regexp.Compile("^(?:" + t.Pattern + ")$")
		if err != nil {
			continue // regular expressions that only Python supports match nothing
		}
		if found := pattern.FindStringSubmatch(message); found != nil {
			return t.Type, strings.ReplaceAll(t.Message, "$1", append(found, "")[1])
		}
	}
	return typ, message
}

// SplitTarget splits FILE.py:Class, and reports whether it is a Python file. The class may be empty.
func SplitTarget(target string) (file, class string, is bool) {
	if i := strings.LastIndexByte(target, ':'); i >= 0 && strings.HasSuffix(target[:i], ".py") {
		return target[:i], target[i+1:], true
	}
	return target, "", strings.HasSuffix(target, ".py")
}

// Compile translates the workflow of FILE.py or FILE.py:Class. The error is a *Refusal for an invalid file.
func (i *Interpreter) Compile(ctx context.Context, target string) (*Source, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, questionMax, errSlow)
	defer cancel()
	got, err := i.ask(ctx, nil, "compile", target, "--json")
	if err != nil {
		return nil, err
	}
	if got.code != 0 {
		if strings.HasPrefix(got.errors, "Traceback ") {
			return nil, fmt.Errorf("%s: %s; this is a bug in pulley, please report it", target, lastLine(got.errors))
		}
		return nil, refusal(got.errors, fmt.Sprintf("%s: Python's compiler ended with status %d", target, got.code))
	}
	s := &Source{}
	if err := json.Unmarshal([]byte(got.out), s); err != nil {
		return nil, fmt.Errorf("%s: the compiler's answer cannot be read: %w", target, err)
	}
	slices.SortStableFunc(s.Positions, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return s, nil
}

func refusal(text, otherwise string) *Refusal {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimPrefix(strings.TrimSpace(line), "pulley: "); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		lines = []string{otherwise}
	}
	return &Refusal{lines}
}

// Parse parses the program. Its positions, and those of errors, are in the Python file.
func (s *Source) Parse(file string, limits ir.Limits) (*ir.Program, error) {
	p, err := ir.Parse(file, []byte(s.Text), limits)
	var at *ir.Error
	if errors.As(err, &at) {
		at.Pos = s.Place(at.Pos)
		return nil, at
	}
	if err != nil {
		return nil, err
	}
	ir.Relocate(p, s.Place)
	return p, nil
}

// Place maps a position in the program to Python: that of the last known position at or before it.
func (s *Source) Place(at ir.Pos) ir.Pos {
	n, exact := slices.BinarySearchFunc(s.Positions, at, func(p Position, at ir.Pos) int {
		return cmp.Or(cmp.Compare(p.Line, at.Line), cmp.Compare(p.Col, at.Col))
	})
	if !exact {
		n = max(n-1, 0)
	}
	if n >= len(s.Positions) {
		return ir.Pos{File: at.File, Line: 1, Col: 1}
	}
	p := s.Positions[n]
	return ir.Pos{File: cmp.Or(p.File, at.File), Line: p.FileLine, Col: p.FileCol}
}

// InputError is an input that does not fit the workflow's run, with a reason in one line.
type InputError struct{ Msg string }

func (e *InputError) Error() string { return e.Msg }

// Complete checks an input by the type hints of the workflow's run, and adds defaults. The error is an *InputError for an
// invalid input, and a *Refusal for an invalid file.
func (i *Interpreter) Complete(ctx context.Context, target string, input []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, questionMax, errSlow)
	defer cancel()
	got, err := i.ask(ctx, input, "input", target)
	if err != nil {
		return nil, err
	}
	var out struct {
		Input      json.RawMessage `json:"input"`
		InputError string          `json:"input_error"`
		FileError  string          `json:"file_error"`
	}
	switch err := json.Unmarshal([]byte(got.out), &out); {
	case err != nil:
		return nil, refusal(lastLine(got.errors), fmt.Sprintf("%s: checking the input ended with status %d", target, got.code))
	case out.FileError != "":
		return nil, &Refusal{[]string{out.FileError}}
	case out.InputError != "":
		return nil, &InputError{out.InputError}
	}
	return out.Input, nil
}

// Worker is the command line of a worker for the actions of a file, with a number of slots.
func (i *Interpreter) Worker(file string, slots int) []string {
	return i.Argv("worker", "--slots", strconv.Itoa(slots), file)
}
