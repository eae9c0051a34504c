package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"pulley/engine/worker"
)

const (
	// least capacity of a pipe
	pipeBytes = 4 << 10
	// size of a read: most pipes' capacity
	readBytes = 64 << 10
	// kept end of standard error
	tailBytes = 16 << 10
	// its part in a failure without a message
	shownBytes = 2 << 10
)

// pipes are a program's standard input, output and error, and their content.
type pipes struct {
	child   [3]*os.File // the program's ends; nil once it has them
	input   []byte
	stdin   *os.File // our end; nil if the pipe held all input
	stdout  stream
	stderr  stream
	most    int
	log     func(line string)
	copies  sync.WaitGroup
	tooLong chan struct{}
	output  []byte
	errors  tail
}

func openPipes(input []byte, most int, log func(string)) (_ *pipes, err error) {
	p := &pipes{input: input, most: most, log: log, tooLong: make(chan struct{}), stdout: stream{fd: -1}, stderr: stream{fd: -1}}
	p.stdout.read, p.stderr.read = p.readOutput, p.readErrors
	if err = p.openInput(); err == nil {
		if p.child[1], err = p.stdout.open(); err == nil {
			p.child[2], err = p.stderr.open()
		}
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("no pipe to the program: %w", err)
	}
	return p, nil
}

func (p *pipes) openInput() error {
	reader, writer, err := newPipe()
	if err != nil {
		return err
	}
	p.child[0] = os.NewFile(uintptr(reader), "standard input")
	if len(p.input) <= pipeBytes {
		_, err = write(writer, p.input)
		return errors.Join(err, syscall.Close(writer))
	}
	if err := syscall.SetNonblock(writer, true); err != nil {
		return errors.Join(err, syscall.Close(writer))
	}
	p.stdin = os.NewFile(uintptr(writer), "standard input") // non-blocking, so that it can be closed during a write
	return nil
}

// close closes all ends, and waits for the copies.
func (p *pipes) close() {
	p.closeChild()
	p.closeInput()
	p.stdout.close()
	p.stderr.close()
	p.copies.Wait()
}

func (p *pipes) closeChild() {
	for i, end := range p.child {
		if end != nil {
			_ = end.Close()
			p.child[i] = nil
		}
	}
}

func (p *pipes) closeInput() {
	if p.stdin != nil {
		_ = p.stdin.Close() // a program need not read it all
	}
}

func (p *pipes) begin() {
	if p.stdin == nil {
		return
	}
	p.copies.Go(func() {
		_, _ = p.stdin.Write(p.input) // a program need not read it
		p.closeInput()
	})
}

// follow reads output as it comes from now on.
func (p *pipes) follow() {
	p.copies.Go(p.stdout.follow())
	p.copies.Go(p.stderr.follow())
}

// drain reads what the ended program has written, without waiting: processes that left its group may hold the pipes open.
func (p *pipes) drain() {
	p.closeInput()
	p.stdout.release()
	p.stderr.release()
	p.copies.Wait()
	p.stdout.drain()
	p.stderr.drain()
	p.errors.end(p.log)
}

func (p *pipes) readOutput(text []byte) bool {
	p.output = append(p.output, text...)
	if len(p.output) <= p.most {
		return true
	}
	p.output = p.output[:p.most]
	close(p.tooLong)
	return false
}

func (p *pipes) readErrors(text []byte) bool {
	p.errors.add(text, p.log)
	return true
}

func (p *pipes) isTooLong() bool {
	select {
	case <-p.tooLong:
		return true
	default:
		return false
	}
}

func (p *pipes) result() (json.RawMessage, error) {
	value := bytes.TrimSpace(p.output)
	wrong := func(format string, args ...any) error {
		return &worker.Error{Type: worker.TypeResult, Message: "the program ended with status 0, " + fmt.Sprintf(format, args...)}
	}
	switch {
	case len(value) == 0:
		return nil, wrong("and wrote no result; it writes one JSON value to standard output, such as null")
	case !utf8.Valid(value):
		return nil, wrong("and its result is not UTF-8")
	case json.Valid(value):
		return json.RawMessage(value), nil
	}
	var any json.RawMessage
	err := json.Unmarshal(value, &any)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, wrong("and its result is no JSON value: byte %d: %v; what it tells people goes to standard error: %s", syntax.Offset, err, shown(value))
	}
	return nil, wrong("and its result is no JSON value: %v", err)
}

func (p *pipes) failure(state *os.ProcessState) error {
	said := strings.TrimSpace(strings.ToValidUTF8(string(p.errors.kept), "\uFFFD"))
	last := said
	if i := strings.LastIndexByte(said, '\n'); i >= 0 {
		last = said[i+1:]
	}
	var typed struct{ Type, Message *string }
	if json.Unmarshal([]byte(last), &typed) == nil && typed.Type != nil && *typed.Type != "" && typed.Message != nil {
		return &worker.Error{Type: *typed.Type, Message: *typed.Message}
	}
	failure := &worker.Error{Type: TypeExitStatus, Message: fmt.Sprintf("the program ended with %v", state)}
	if state == nil || !state.Exited() {
		failure.Type = TypeKilled
	}
	if said != "" {
		if len(said) > shownBytes {
			said = "… " + strings.ToValidUTF8(said[len(said)-shownBytes:], "")
		}
		failure.Message += ": " + said
	}
	return failure
}

func shown(output []byte) string {
	const most = 80
	if len(output) > most {
		return fmt.Sprintf("%q…", output[:most])
	}
	return fmt.Sprintf("%q", output)
}

type tail struct {
	kept []byte
	line []byte
}

func (t *tail) add(text []byte, log func(string)) {
	t.kept = append(t.kept, text...)
	if over := len(t.kept) - tailBytes; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	for len(text) > 0 {
		line, rest, ends := bytes.Cut(text, []byte("\n"))
		t.line = append(t.line, line[:min(len(line), tailBytes-min(len(t.line), tailBytes))]...)
		if ends {
			log(string(t.line))
			t.line = t.line[:0]
		}
		text = rest
	}
}

func (t *tail) end(log func(string)) {
	if len(t.line) > 0 {
		log(string(t.line))
		t.line = nil
	}
}
