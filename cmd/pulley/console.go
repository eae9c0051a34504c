package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/scenarios/yamlfile"
)

// console is what a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer

	mu sync.Mutex // so that a line is said whole
}

// say writes a line to standard error. That it cannot be written is nobody's concern.
func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.err, oneLine(fmt.Sprintf(format, args...))+"\n")
}

// print writes to standard output, in one piece.
func (c *console) print(text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		return fmt.Errorf("writing the output: %w", cause(err))
	}
	return nil
}

// encodeJSON writes a value as people read it.
func encodeJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// status is an exit status, for an error that is not a mistake of the user's or that has been told
// already.
type status struct {
	code int
	err  error // told before the program ends; nil: nothing is
}

func (s *status) Error() string { return fmt.Sprintf("exit status %d: %v", s.code, s.err) }
func (s *status) Unwrap() error { return s.err }

// refused is a program that does not run, with a line for each reason.
type refused struct{ lines []string }

func (r *refused) Error() string { return strings.Join(r.lines, "\n") }

// fail tells of an error and gives the exit status.
func (c *console) fail(err error) int {
	if err == nil {
		return 0
	}
	code := exitUsage
	var s *status
	if errors.As(err, &s) {
		if code, err = s.code, s.err; err == nil {
			return code
		}
	}
	var r *refused
	if errors.As(err, &r) {
		for _, line := range r.lines {
			c.say("%s", line)
		}
		return code
	}
	c.say("pulley: %v", err)
	return code
}

// reasonsMost bounds how many reasons for a refusal are told.
const reasonsMost = 20

// refuse makes a refusal of the errors that the parser, the compiler or the registry gave, which have
// a line for each reason, with its place.
func refuse(err error, hints ...string) error {
	var at *ir.Error
	var all graph.CompileError
	var file yamlfile.Mistakes
	if errors.As(err, &file) { // of a scenario's file all mistakes are told
		return &refused{lines: append(strings.Split(err.Error(), "\n"), hints...)}
	}
	if !errors.As(err, &at) && !errors.As(err, &all) {
		return err
	}
	lines := strings.Split(err.Error(), "\n")
	if more := len(lines) - reasonsMost; more > 0 {
		lines = append(lines[:reasonsMost], fmt.Sprintf("pulley: and %d more mistakes", more))
	}
	return &refused{lines: append(lines, hints...)}
}

// oneLine puts a text on one line, and takes out what a terminal would act upon.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r < ' ' || r == 0x7f:
			return -1
		}
		return r
	}, strings.TrimSpace(text))
}
