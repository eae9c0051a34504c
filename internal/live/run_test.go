package live

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pulley/reports/record"
)

// clocked is a run whose time and ticks are the test's.
type clocked struct {
	*Run
	now time.Time
	out *strings.Builder
}

func start(mode Mode, dir string, width int) *clocked {
	c := &clocked{now: time.Unix(1e9, 0), out: &strings.Builder{}}
	s := NewScreen(c.out, nil)
	if width > 0 {
		s = NewScreen(c.out, func() int { return width })
	}
	c.Run = begin(Options{Kind: "compare", Command: []string{"pulley", "compare"}, Mode: mode, Screen: s, Dir: dir, now: func() time.Time { return c.now }})
	return c
}

func (c *clocked) pass(d time.Duration) { c.now = c.now.Add(d); c.tick() }

// last is what stands in the last row.
func (c *clocked) last() string {
	text := c.out.String()
	text = text[strings.LastIndex(text, "\n")+1:]
	return text[strings.LastIndex(text, eraseLine)+len(eraseLine):]
}

func TestLineHasBarRateRestAndWarning(t *testing.T) {
	c := start(Line, "", 120)
	for i := range 6 {
		c.Step(Step{What: "chain on push", Done: float64(i), Total: 12, Unit: "runs"})
		c.pass(2 * time.Second)
	}
	if want := "[########............]  5/12 runs  30.0/min  about 12s left  chain on push"; c.last() != want {
		t.Errorf("the line is\n%q, want\n%q", c.last(), want)
	}
	c.pass(3 * time.Second)
	if !strings.Contains(c.last(), "about 9s left") {
		t.Errorf("the rest does not pass with the time: %q", c.last())
	}
	c.Warn("it %s", "rained\x1b[2J")
	c.pass(time.Second)
	if !strings.HasSuffix(c.last(), "  ! it rained[2J") {
		t.Errorf("the line does not end with the warning: %q", c.last())
	}
	if above := c.out.String(); !strings.Contains(above, "it rained[2J\n") {
		t.Errorf("the warning is not printed above: %q", above)
	}
	c.Note("a note")
	if strings.Contains(c.out.String(), "a note") {
		t.Error("a note is printed on a terminal")
	}
	c.End(record.StateEnded, nil)
	if c.last() != "" {
		t.Errorf("the line is left: %q", c.last())
	}
}

func TestLineOfTimePassesByItself(t *testing.T) {
	c := start(Line, "", 100)
	c.Step(Step{What: "drain", Total: 30, Unit: "s"})
	c.pass(12 * time.Second)
	if want := "[########............]  12s of 30s  about 18s left  drain"; c.last() != want {
		t.Errorf("the line is %q, want %q", c.last(), want)
	}
	c.pass(time.Hour)
	if want := "[####################]  30s of 30s  drain"; c.last() != want {
		t.Errorf("the line is %q, want %q", c.last(), want)
	}
}

func TestLineIsDrawnAtABoundedRate(t *testing.T) {
	c := start(Line, "", 80)
	for i := range 100_000 {
		c.Step(Step{What: "x", Done: float64(i), Total: 1e6, Unit: "seeds"})
		if i%1000 == 0 {
			c.now = c.now.Add(10 * time.Millisecond)
		}
	}
	if n := strings.Count(c.out.String(), eraseLine); n > 11 {
		t.Errorf("within a second the line is drawn %d times", n)
	}
}

func TestLogIsBounded(t *testing.T) {
	c := start(Plain, "", 0)
	for i := range 1000 {
		c.Note("run %d", i)
	}
	if n := strings.Count(c.out.String(), "\n"); n != linesAtOnce {
		t.Errorf("%d lines at once, want %d", n, linesAtOnce)
	}
	c.Warn("it rained")
	if !strings.HasSuffix(c.out.String(), "it rained\n") {
		t.Error("a warning is left out because of notes")
	}
	c.pass(time.Second)
	c.Note("later")
	if want := fmt.Sprintf("later (%d lines before this are left out)\n", 1000-linesAtOnce); !strings.HasSuffix(c.out.String(), want) {
		t.Errorf("the log does not end with %q", want)
	}
	if strings.Contains(c.out.String(), "\x1b") {
		t.Error("a log has escape codes")
	}
}

func TestLogIsNotSilent(t *testing.T) {
	c := start(Plain, "", 0)
	c.Step(Step{What: "push", Detail: "all is well", Done: 10, Total: 100, Unit: "seeds"})
	c.pass(9 * time.Second)
	if c.out.String() != "" {
		t.Errorf("a log has %q after 9 s", c.out.String())
	}
	c.pass(time.Second)
	c.pass(time.Second)
	if want := "10/100 seeds: push, all is well\n"; c.out.String() != want {
		t.Errorf("a log has %q after 11 s, want %q", c.out.String(), want)
	}
}

func TestNoneAndNilShowNothing(t *testing.T) {
	var none *Run
	none.Step(Step{})
	none.Say("x")
	none.Warn("x")
	none.End(record.StateEnded, nil)
	c := start(None, "", 80)
	c.Step(Step{What: "x", Total: 1, Unit: "runs"})
	c.Say("x")
	c.Warn("x")
	c.pass(time.Minute)
	c.End(record.StateFailed, errors.New("x"))
	if c.out.String() != "" {
		t.Errorf("%q is shown", c.out.String())
	}
}

func readProgress(t *testing.T, dir string) *record.Progress {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, record.ProgressFile))
	if err != nil {
		t.Fatal(err)
	}
	p, err := record.DecodeProgress(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFileIsWrittenAtABoundedRate(t *testing.T) {
	dir := t.TempDir()
	c := start(None, dir, 0)
	if p := readProgress(t, dir); p.State != record.StateRunning || p.Kind != "compare" || p.PID != os.Getpid() {
		t.Errorf("at the begin, the file has %+v", p)
	}
	c.Step(Step{What: "chain", Done: 1, Total: 4, Unit: "runs"})
	if p := readProgress(t, dir); p.Done != 0 {
		t.Errorf("the file is written at once, with %v runs", p.Done)
	}
	for i := range 100 {
		c.Say("line %d\x1b[2J", i)
	}
	c.Warn("it rained")
	c.pass(2 * time.Second)
	p := readProgress(t, dir)
	if p.Done != 1 || p.What != "chain" || p.Warning != "it rained" || p.Warnings != 1 || len(p.Lines) != record.ProgressLines || p.Lines[0] != "line 71[2J" {
		t.Errorf("the file has %+v", p)
	}
	if was := p.At; !readProgress(t, dir).At.Equal(was) {
		t.Error("the file changes by itself")
	}
	c.pass(2 * time.Second)
	if !readProgress(t, dir).At.After(p.At) {
		t.Error("the file of a run that waits grows old")
	}
	c.End(record.StateInterrupted, errors.New("interrupted"))
	if p := readProgress(t, dir); p.State != record.StateInterrupted || p.Error != "interrupted" {
		t.Errorf("at the end, the file has %+v", p)
	}
	start(None, dir, 0).End(record.StateEnded, nil)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("a run that ended leaves %v, %v", left, err)
	}
}

func TestFileThatCannotBeWrittenIsReportedOnce(t *testing.T) {
	var got []error
	c := &clocked{now: time.Unix(1e9, 0), out: &strings.Builder{}}
	c.Run = begin(Options{
		Kind: "compare", Screen: NewScreen(c.out, nil), Dir: filepath.Join(t.TempDir(), "missing"), now: func() time.Time { return c.now }, Problem: func(err error) { got = append(got, err) },
	})
	c.pass(time.Minute)
	c.pass(time.Minute)
	c.End(record.StateFailed, nil)
	if len(got) != 1 {
		t.Errorf("reported: %v", got)
	}
}

func TestBeginLeavesNoGoroutine(t *testing.T) {
	r := Begin(Options{Kind: "compare", Screen: NewScreen(&strings.Builder{}, nil)})
	r.Step(Step{What: "x"})
	r.End(record.StateEnded, nil)
	goleak.VerifyNone(t)
}
