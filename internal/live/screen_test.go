package live_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"pulley/internal/live"
)

// terminal executes what a Screen may write: text, line ends, a return, and the erasure of a line.
type terminal struct {
	t    *testing.T
	rows []string
	raw  strings.Builder
}

func newTerminal(t *testing.T) *terminal { return &terminal{t: t, rows: []string{""}} }

func (v *terminal) Write(p []byte) (int, error) {
	v.raw.Write(p)
	text, last := string(p), func() *string { return &v.rows[len(v.rows)-1] }
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\r\x1b[K"):
			*last(), text = "", text[len("\r\x1b[K"):]
		case text[0] == '\n':
			v.rows, text = append(v.rows, ""), text[1:]
		case text[0] < ' ' || text[0] == 0x7f:
			v.t.Errorf("the terminal gets the control character %q, in %q", text[0], p)
			text = text[1:]
		default:
			*last(), text = *last()+text[:1], text[1:]
		}
	}
	return len(p), nil
}

func wide(n int) func() int { return func() int { return n } }

func TestScreenKeepsTheLineBelow(t *testing.T) {
	v := newTerminal(t)
	s := live.NewScreen(v, wide(40))
	s.Line(func(int) string { return "half" })
	s.Print("first")
	if got := strings.Join(v.rows, "|"); got != "first|half" {
		t.Errorf("the screen has %q", got)
	}
	wrong := errors.New("closed")
	if err := s.Around(func() error { _, _ = io.WriteString(v, "a table\n"); return wrong }); err != wrong {
		t.Errorf("the error of what is written is %v", err)
	}
	s.Line(func(int) string { return "all" })
	if got := strings.Join(v.rows, "|"); got != "first|a table|all" {
		t.Errorf("the screen has %q", got)
	}
	s.Line(nil)
	s.Print("last")
	if got := strings.Join(v.rows, "|"); got != "first|a table|last|" {
		t.Errorf("the screen has %q, and should be clean", got)
	}
}

// A line that a terminal would wrap could not be erased.
func TestScreenClipsToTheWidth(t *testing.T) {
	for width := range 30 {
		v := newTerminal(t)
		s := live.NewScreen(v, wide(width))
		for _, text := range []string{strings.Repeat("x", 100), strings.Repeat("界", 50), "e\u0301" + strings.Repeat("é", 60)} {
			s.Line(func(int) string { return text })
			if last := v.rows[len(v.rows)-1]; live.Cells(last) > max(width-1, 0) {
				t.Errorf("%d cells: %q has %d", width, last, live.Cells(last))
			}
		}
	}
}

func TestScreenWithoutATerminalHasNoLine(t *testing.T) {
	var out strings.Builder
	s := live.NewScreen(&out, nil)
	s.Line(func(int) string { return "half" })
	s.Print("first")
	s.Line(nil)
	if out.String() != "first\n" {
		t.Errorf("%q is written", out.String())
	}
}

func TestCleanLeavesNothingToExecute(t *testing.T) {
	for text, want := range map[string]string{
		"\x1b[2J\x1b]0;owned\x07name": "[2J]0;ownedname",
		"a\u009b31mb":                 "a31mb", // a control sequence in one character
		"back\b\b\rover":              "backover",
		"two\nlines\tand a tab ":      "two lines and a tab",
		"a\u202egnp.exe\u2066\u200b":  "agnp.exe", // reversed, isolated, hidden
		"a\u2028b":                    "a b",
		"\xff\x9b1m":                  "??1m", // bytes that are no text, of which some terminals execute one
		"12 µs – 3 × 4, 界":            "12 µs – 3 × 4, 界",
	} {
		if got := live.Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestWriterPrintsWholeLines(t *testing.T) {
	v := newTerminal(t)
	s := live.NewScreen(v, wide(40))
	s.Line(func(int) string { return "half" })
	w := s.Writer()
	for _, part := range []string{"on", "e\ntwo", "\n\x1b[Ath", "ree"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(v.rows, "|"); got != "one|two|half" {
		t.Errorf("the screen has %q", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(v.rows, "|"); got != "one|two|[Athree|half" {
		t.Errorf("the screen has %q", got)
	}
}

func TestScreenIsSafeForConcurrentUse(t *testing.T) {
	v := newTerminal(t)
	s := live.NewScreen(v, wide(40))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 50 {
				s.Line(func(int) string { return "line" })
				s.Print(fmt.Sprint(i))
			}
		})
	}
	all.Wait()
	s.Line(nil)
	if len(v.rows) != 201 || v.rows[200] != "" {
		t.Errorf("%d rows, the last one %q", len(v.rows), v.rows[len(v.rows)-1])
	}
}
