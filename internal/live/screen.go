package live

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
)

// Screen is an output whose last line may change. Its zero value shows no line.
type Screen struct {
	w     io.Writer
	width func() int // in cells; not called for an output that is no terminal

	mu    sync.Mutex
	line  func(width int) string
	shown bool
}

// NewScreen returns a screen on a terminal of that many cells. Nil: the output is no terminal.
func NewScreen(w io.Writer, width func() int) *Screen { return &Screen{w: w, width: width} }

// IsTerminal reports whether the screen can have a line that changes.
func (s *Screen) IsTerminal() bool { return s.width != nil }

const eraseLine = "\r\x1b[K"

// Print writes a whole line above the changing one. It ignores write errors, as there is nowhere to report them.
func (s *Screen) Print(text string) {
	_ = s.Around(func() error {
		_, err := io.WriteString(s.w, Clean(text)+"\n")
		return err
	})
}

// Around calls write while the changing line is off the terminal.
func (s *Screen) Around(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	err := write()
	s.draw()
	return err
}

// Line sets the text of the changing line, given the width, or redraws it with the text of the moment. Nil removes it.
func (s *Screen) Line(text func(width int) string) {
	if !s.IsTerminal() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line = text
	if text == nil {
		s.erase()
		return
	}
	s.draw()
}

func (s *Screen) erase() {
	if s.shown {
		_, _ = io.WriteString(s.w, eraseLine)
		s.shown = false
	}
}

// draw leaves the last cell free: a full line would make some terminals begin another.
func (s *Screen) draw() {
	if s.line == nil {
		return
	}
	width := s.width() - 1
	if width < 1 {
		return
	}
	_, _ = io.WriteString(s.w, eraseLine+Clip(Clean(s.line(width)), width))
	s.shown = true
}

// Writer returns a writer for another program's output, whose lines it prints whole. Its last line is printed when it is closed.
func (s *Screen) Writer() io.WriteCloser { return &lineWriter{screen: s} }

// lineMost bounds a line without an end.
const lineMost = 16 << 10

type lineWriter struct {
	screen *Screen
	mu     sync.Mutex
	begun  []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range p {
		if b == '\n' || len(l.begun) >= lineMost {
			l.screen.Print(string(l.begun))
			l.begun = l.begun[:0]
		}
		if b != '\n' {
			l.begun = append(l.begun, b)
		}
	}
	return len(p), nil
}

func (l *lineWriter) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.begun) > 0 {
		l.screen.Print(string(l.begun))
		l.begun = nil
	}
	return nil
}

// Clean joins lines, and removes what a terminal would execute or hide: control characters of both sets, and marks that reverse or
// join text. Bytes that are no text become question marks.
func Clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case r == unicode.ReplacementChar:
			return '?'
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, text))
}

// Clip returns a text that takes at most that many cells of a terminal, with an ellipsis where something is left out.
func Clip(text string, width int) string {
	if Cells(text) <= width {
		return text
	}
	used := 1 // the ellipsis
	for i, r := range text {
		if used += cells(r); used > width {
			return text[:i] + "…"
		}
	}
	return text
}

// Cells is how many cells of a terminal a text takes at most.
func Cells(text string) int {
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// cells counts two where a terminal may use two: too many are harmless, too few would break the line.
func cells(r rune) int {
	if r < 0x1100 || r >= 0x2000 && r < 0x2329 || r >= 0x2500 && r < 0x25a0 || r >= 0x2800 && r < 0x2900 {
		return 1
	}
	return 2
}

// clock writes a time as people read it: 3m20s.
func clock(s float64) string {
	total := int64(s + 0.5)
	h, m, sec := total/3600, total/60%60, total%60
	switch {
	case h > 0:
		return fmt.Sprintf("%dh%02dm", h, m)
	case m > 0:
		return fmt.Sprintf("%dm%02ds", m, sec)
	}
	return fmt.Sprintf("%ds", sec)
}
