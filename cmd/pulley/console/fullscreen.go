package console

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"pulley/internal/cause"
)

// FullScreen is a terminal on which a command draws whole pages. What was on it comes back at the end.
type FullScreen struct {
	out *os.File
}

// FullScreen returns standard output; nil: it is no terminal that can show pages.
func (c *Console) FullScreen() *FullScreen {
	if !IsTerminal(c.Out) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return &FullScreen{c.Out.(*os.File)}
}

// Sequences of terminals: the other screen without a cursor, and back; the first cell; the rest of a line, and of the screen, erased.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	firstCell   = "\x1b[H"
	eraseLine   = "\x1b[K"
	eraseRest   = "\x1b[J"
)

// Enter shows an empty page.
func (s *FullScreen) Enter() error { return s.write(enterScreen) }

// Leave shows what was there before.
func (s *FullScreen) Leave() { _ = s.write(leaveScreen) } // there is nothing left to do for a terminal that has closed

// Draw replaces the page, without an empty one in between.
func (s *FullScreen) Draw(page string) error {
	return s.write(firstCell + strings.ReplaceAll(page, "\n", eraseLine+"\n") + eraseRest)
}

// Size is in cells.
func (s *FullScreen) Size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

func (s *FullScreen) write(text string) error {
	if _, err := io.WriteString(s.out, text); err != nil {
		return fmt.Errorf("writing to the terminal: %w", cause.Of(err))
	}
	return nil
}
