package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// lingersWithin is how long a check may go on after it has said what it must: to tell which test failed, and to
// end in good order. What hangs, as bugs make it, is ended then.
const lingersWithin = 3 * time.Second

// endsWithin is how long a check that is interrupted may take to end in good order.
const endsWithin = 20 * time.Second

// ordinary are the variables that have tests be others than those that run before each change, or have them use a server whose
// tables were made by code without the mutant.
var ordinary = []string{"PULLEY_TEST_DEPTH=", "PULLEY_TEST_SERVER=", "PULLEY_TEST_TEMPLATE=", "PULLEY_TEST_ALONE="}

// environment is that of a check: what it writes is in the planter's folder, and goes with that, however the check ends.
func (p *planter) environment() []string {
	env := append(os.Environ(), ordinary...)
	if p.dir != "" {
		env = append(env, "TMPDIR="+p.dir)
	}
	return env
}

// errMatched ends a check that has said what it must.
var errMatched = errors.New("the check has said what it must, and did not end")

// The lines of a test's output in which the test itself says nothing.
var (
	frame = regexp.MustCompile(`^\s*(=== |--- )`)
	names = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)`)
	stack = regexp.MustCompile(`^(panic: test timed out|goroutine \d+ )`)
)

// outputScanner takes what a check says, and listens for words: line by line, but not in names of tests, nor in stacks.
type outputScanner struct {
	words   *regexp.Regexp // nil: for none
	onMatch func()         // is called when a line has them, once

	text    bytes.Buffer
	read    int    // how much of text has been listened to
	inStack bool   // stacks have begun
	test    string // that speaks
	line    string // that has the words
	by      string // the test that said them
}

// Write implements io.Writer.
func (e *outputScanner) Write(text []byte) (int, error) {
	e.text.Write(text)
	for {
		line, _, whole := bytes.Cut(e.text.Bytes()[e.read:], []byte("\n"))
		if !whole {
			return len(text), nil
		}
		e.read += len(line) + 1
		e.listen(string(line))
	}
}

// listen takes one line.
func (e *outputScanner) listen(line string) {
	if m := names.FindStringSubmatch(line); m != nil {
		e.test = m[1]
	}
	e.inStack = e.inStack || stack.MatchString(line)
	if e.words == nil || e.line != "" || e.inStack || frame.MatchString(line) || !e.words.MatchString(line) {
		return
	}
	e.line, e.by = line, e.test
	if e.onMatch != nil {
		e.onMatch()
	}
}

// firstMatch gives the first line of a text that has the words.
func firstMatch(words *regexp.Regexp, text string) (string, bool) {
	e := outputScanner{words: words}
	_, _ = e.Write(append([]byte(text), '\n')) // it never fails
	return e.line, e.line != ""
}

// process is a program that was run to its end, or to its words.
type process struct {
	text  string
	after time.Duration // until it had said the words, or else had ended
	ended bool          // it went on after them, and was ended
	by    string        // the test that said them
}

// output runs a program until it ends, or goes on for long after it has said the words. All that it leaves is
// killed with it, but for servers: those have a session of their own, and end with what started them.
func (p *planter) output(ctx context.Context, words *regexp.Regexp, dir, program string, args ...string) (process, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, p.environment()
	cmd.WaitDelay = endsWithin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		end := syscall.SIGINT // it removes what it has made, where it can
		if errors.Is(context.Cause(ctx), errMatched) {
			end = syscall.SIGKILL
		}
		return syscall.Kill(-cmd.Process.Pid, end)
	}
	began := time.Now()
	var after time.Duration
	var lingers *time.Timer
	out := &outputScanner{words: words, onMatch: func() {
		after = time.Since(began)
		lingers = time.AfterFunc(p.lingers, func() { cancel(errMatched) })
	}}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if lingers != nil {
		lingers.Stop()
	}
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // of the group, mostly nothing is left
	}
	cause := context.Cause(ctx)
	if after == 0 {
		after = time.Since(began)
	}
	r := process{text: out.text.String(), after: after, ended: errors.Is(cause, errMatched) && err != nil, by: out.by}
	if cause != nil && !r.ended {
		err = cause
	}
	return r, err
}
