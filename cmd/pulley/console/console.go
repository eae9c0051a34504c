package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/internal/cause"
	"pulley/internal/live"
	"pulley/internal/yamlfile"
)

// Exit statuses besides 0 and those of signals.
const (
	ExitFailed       = 1  // the instance failed, or the answer is no
	ExitUsage        = 2  // there is no result
	ExitInconclusive = 3  // a run decides nothing, or shows less than required
	ExitBug          = 70 // a panic
)

// Console is a command's input and output.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Quiet    bool // only errors go to Err
	// ShowProgress is how Follow shows a run on Err. Empty: ProgressAuto.
	ShowProgress string

	once sync.Once
	err  *live.Screen // on Err; keeps lines whole
}

// Say writes a line to standard error, unless quiet. It ignores write errors.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		c.complain(format, args...)
	}
}

func (c *Console) complain(format string, args ...any) {
	c.screen().Print(fmt.Sprintf(format, args...))
}

// Print writes to standard output in one piece.
func (c *Console) Print(text string) error {
	err := c.screen().Around(func() error { // both may be one terminal
		_, err := io.WriteString(c.Out, text)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the output: %w", cause.Of(err))
	}
	return nil
}

// Show prints the output of write in one piece, or nothing on an error.
func (c *Console) Show(write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return c.Print(b.String())
}

// EncodeJSON writes indented JSON, without HTML escapes. What a terminal would execute or hide is escaped.
func EncodeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(b.Bytes()))
	return err
}

// EscapeJSON escapes in JSON what a terminal would execute or hide. It stays the same JSON.
func EscapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, isHidden) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !isHidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// isHidden leaves out what is not within strings of JSON.
func isHidden(r rune) bool { return r >= 0x7f && !unicode.IsGraphic(r) }

// JSONText returns a value as EncodeJSON writes it.
func JSONText(value any) (string, error) {
	var b strings.Builder
	err := EncodeJSON(&b, value)
	return b.String(), err
}

// PrintAs prints value as JSON if requested, else text.
func (c *Console) PrintAs(f FormatFlag, value any, text string) error {
	if !f.JSON() {
		return c.Print(text)
	}
	return c.Show(func(w io.Writer) error { return EncodeJSON(w, value) })
}

// Status is an exit status, for an error that is not the user's mistake or was already reported.
type Status struct {
	Code int
	Err  error // reported before the program ends; may be nil
}

func (s *Status) Error() string { return fmt.Sprintf("exit status %d: %v", s.Code, s.Err) }

// Unwrap returns the reported error.
func (s *Status) Unwrap() error { return s.Err }

// Refused means that a program does not run, with a line for each reason.
type Refused struct{ Lines []string }

func (r *Refused) Error() string { return strings.Join(r.Lines, "\n") }

// Fail reports an error and returns the exit status.
func (c *Console) Fail(err error) int {
	if err == nil {
		return 0
	}
	code := ExitUsage
	var s *Status
	if errors.As(err, &s) {
		if code, err = s.Code, s.Err; err == nil {
			return code
		}
	}
	var r *Refused
	if errors.As(err, &r) {
		for _, line := range r.Lines {
			c.complain("%s", line)
		}
		return code
	}
	c.complain("pulley: %v", err)
	return code
}

// ReasonsMax bounds the reported reasons of a refusal.
const ReasonsMax = 20

// Refuse turns errors of the parser, the compiler or the registry into a refusal. Each line has a position. Other errors stay.
func Refuse(err error, hints ...string) error {
	var at *ir.Error
	var all graph.CompileError
	var file yamlfile.Mistakes
	if errors.As(err, &file) { // a scenario's file has all mistakes
		return &Refused{Lines: append(strings.Split(err.Error(), "\n"), hints...)}
	}
	if !errors.As(err, &at) && !errors.As(err, &all) {
		return err
	}
	return &Refused{Lines: append(bound(inOrder(err)), hints...)}
}

func inOrder(err error) []string {
	var all []*ir.Error
	var others []string
	var collect func(err error)
	collect = func(err error) {
		if one, is := err.(*ir.Error); is { //nolint:errorlint // what wraps one has words of its own
			all = append(all, one)
		} else if list, is := err.(interface{ Unwrap() []error }); is {
			for _, e := range list.Unwrap() {
				collect(e)
			}
		} else {
			others = append(others, strings.Split(err.Error(), "\n")...)
		}
	}
	collect(err)
	slices.SortStableFunc(all, func(a, b *ir.Error) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	var lines []string
	for _, e := range all {
		lines = append(lines, e.Error())
	}
	return append(lines, others...)
}

func bound(lines []string) []string {
	if more := len(lines) - ReasonsMax; more > 0 {
		return append(lines[:ReasonsMax:ReasonsMax], fmt.Sprintf("pulley: and %d more mistakes", more))
	}
	return lines
}

// OneLine joins lines, and removes what a terminal would execute or hide.
func OneLine(text string) string { return live.Clean(text) }
