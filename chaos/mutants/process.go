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

// lingersWithin bounds how long a check continues after its words, to name the failed test. A hanging check is killed then.
const lingersWithin = 3 * time.Second

const endsWithin = 20 * time.Second

// ordinary unsets variables that change tests, or make them use a server whose tables were created without the mutant.
var ordinary = []string{"PULLEY_TEST_DEPTH=", "PULLEY_TEST_SERVER=", "PULLEY_TEST_TEMPLATE=", "PULLEY_TEST_ALONE="}

// TMPDIR is the planter's folder, which is removed however the check ends.
func (p *planter) environment() []string {
	env := append(os.Environ(), ordinary...)
	if p.dir != "" {
		env = append(env, "TMPDIR="+p.dir)
	}
	return env
}

var errMatched = errors.New("the check has said what it must, and did not end")

var (
	frame = regexp.MustCompile(`^\s*(=== |--- )`)
	names = regexp.MustCompile(`^=== (?:RUN|CONT|NAME)\s+(\S+)`)
	stack = regexp.MustCompile(`^(panic: test timed out|goroutine \d+ )`)
)

// outputScanner searches a check's output for words, without test names and stack traces.
type outputScanner struct {
	words   *regexp.Regexp
	onMatch func()

	text    bytes.Buffer
	read    int
	inStack bool
	test    string
	line    string
	by      string // the test that wrote line
}

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

func firstMatch(words *regexp.Regexp, text string) (string, bool) {
	e := outputScanner{words: words}
	_, _ = e.Write(append([]byte(text), '\n'))
	return e.line, e.line != ""
}

type process struct {
	text  string
	after time.Duration // until its words, or else its end
	ended bool          // killed after its words
	by    string
}

// output runs a program until it ends or lingers too long. It kills what the program leaves, except servers, which have a
// session of their own and end with their starter.
func (p *planter) output(ctx context.Context, words *regexp.Regexp, dir, program string, args ...string) (process, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, p.environment()
	cmd.WaitDelay = endsWithin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		end := syscall.SIGINT // lets it remove its files
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
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // mostly nothing is left
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
