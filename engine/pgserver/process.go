package pgserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

var (
	// errStillInUse: a crashed server has not quite ended. It does so by itself.
	errStillInUse = errors.New("a server that crashed still holds its memory or its lock file")

	// errNoStatementStats: the binaries lack pg_stat_statements.
	errNoStatementStats = errors.New("the library pg_stat_statements is missing")
)

// noStatementStats is a server's message about the missing library.
const noStatementStats = `could not access file "` + statementStats + `"`

type process struct {
	cmd     *exec.Cmd
	log     string        // the file that it writes to
	logFrom int64         // offset of this run's part of the log, in bytes
	done    chan struct{} // closed when the process ended
}

func startProcess(program string, p *place, who *account) (*process, error) {
	log, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	info, err := log.Stat()
	if err != nil {
		return nil, err
	}
	proc := &process{log: p.log(), logFrom: info.Size(), done: make(chan struct{})}
	// The watchdog identifies the server by the directory in its command line.
	proc.cmd = exec.Command(program, "-D", p.cluster())
	proc.cmd.Dir = p.data.path
	proc.cmd.Env = serverEnv()
	proc.cmd.Stdout = log
	proc.cmd.Stderr = log
	proc.cmd.SysProcAttr = who.attributes()
	if err := proc.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s cannot be started: %w", program, err)
	}
	// Ends with the server, which stop and close ensure.
	go func() {
		defer close(proc.done)
		_ = proc.cmd.Wait() // the log explains how it ended
	}()
	return proc, nil
}

// alive reports whether the process runs. A nil process does not.
func (p *process) alive() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// awaitReady returns nil once the server accepts a connection, and the reason if it ends before.
func (p *process) awaitReady(ctx context.Context, dsn string) error {
	tick := time.NewTicker(connectTick)
	defer tick.Stop()
	for {
		if conn, err := pgx.Connect(ctx, dsn); err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-p.done:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("the server did not become ready: %w; its log says: %s", context.Cause(ctx), failureIn(p.output(), "nothing"))
		case <-tick.C:
		}
	}
}

func (p *process) failure() error {
	out := p.output()
	switch {
	case strings.Contains(out, "pre-existing shared memory block"), strings.Contains(out, `lock file "postmaster.pid" already exists`):
		return fmt.Errorf("%w: %s", errStillInUse, failureIn(out, ""))
	case strings.Contains(out, noStatementStats):
		return errNoStatementStats
	}
	return fmt.Errorf("the server ended at once: %s", failureIn(out, p.cmd.ProcessState.String()))
}

func (p *process) output() string {
	const enough = 64 << 10
	file, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	from := p.logFrom
	if info, err := file.Stat(); err == nil {
		from = max(from, info.Size()-enough)
	}
	text, _ := io.ReadAll(io.NewSectionReader(file, from, enough))
	return string(text)
}

// end signals the process, waits for its end, and kills it when ctx ends first.
func (p *process) end(ctx context.Context, signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("the server cannot be signalled: %w", err)
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		p.kill()
		return fmt.Errorf("the server did not end in time and was killed: %w", context.Cause(ctx))
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// failureMarks match explanations of failures. A wrong setting is named only in a line before the server gives up.
var failureMarks = regexp.MustCompile(`(?:FATAL|PANIC|ERROR|error|HINT|hint): +(.*)|LOG: +(.*(?:configuration parameter|for parameter|syntax error in file).*)`)

func failureIn(output, other string) string {
	var wrong []string
	for _, line := range strings.Split(output, "\n") {
		if strings.Contains(line, "the database system is starting up") {
			continue // the answer to our own connections
		}
		if match := failureMarks.FindStringSubmatch(line); match != nil {
			wrong = append(wrong, strings.TrimSpace(match[1]+match[2]))
		}
	}
	text := oneLine(strings.Join(wrong, "; "))
	if strings.Contains(output, "No space left on device") {
		text += "; the disk is full: free some room, or set TMPDIR to a directory with more"
	}
	return cmp.Or(text, oneLine(output), other)
}
