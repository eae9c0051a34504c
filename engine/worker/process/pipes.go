package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pulley/engine/worker"
)

const (
	// pipeBytes is what every pipe has room for, and what is read at once.
	pipeBytes = 4 << 10
	// tailBytes is how much of the end of standard error is kept.
	tailBytes = 16 << 10
	// shownBytes is how much of it a failure shows that has no message of its own.
	shownBytes = 2 << 10
)

// pipe has both its ends in this process, until the program has one.
type pipe struct{ reader, writer *os.File }

// pipes are a program's standard input, output and error, and what came out.
type pipes struct {
	stdin, stdout, stderr pipe
	input                 []byte
	most                  int // bytes of output
	log                   func(line string)

	copies  sync.WaitGroup
	tooLong chan struct{} // closed when there is more output than the limit
	output  []byte        // written by its copy until that has ended, as errors is
	errors  tail
}

func openPipes(input []byte, most int, log func(string)) (*pipes, error) {
	p := &pipes{input: input, most: most, log: log, tooLong: make(chan struct{})}
	for _, to := range []*pipe{&p.stdin, &p.stdout, &p.stderr} {
		var err error
		if to.reader, to.writer, err = os.Pipe(); err != nil {
			p.close()
			return nil, fmt.Errorf("no pipe to the program: %w", err)
		}
	}
	return p, nil
}

// close closes all ends, and waits for the copies.
func (p *pipes) close() {
	for _, end := range []*os.File{p.stdin.reader, p.stdin.writer, p.stdout.reader, p.stdout.writer, p.stderr.reader, p.stderr.writer} {
		if end != nil {
			_ = end.Close()
		}
	}
	p.copies.Wait()
}

// closeChild closes the ends that the program has.
func (p *pipes) closeChild() {
	for _, end := range []*os.File{p.stdin.reader, p.stdout.writer, p.stderr.writer} {
		_ = end.Close()
	}
}

// copy writes the input, and reads what comes, beside the program.
func (p *pipes) copy() {
	if len(p.input) <= pipeBytes {
		p.write() // the pipe has room for it
	} else {
		p.copies.Go(p.write)
	}
	p.copies.Go(p.readOutput)
	p.copies.Go(p.readErrors)
}

// write writes the input. A program that does not read it does no harm.
func (p *pipes) write() {
	_, _ = p.stdin.writer.Write(p.input)
	_ = p.stdin.writer.Close()
}

func (p *pipes) readOutput() {
	buffer := make([]byte, pipeBytes)
	for {
		n, err := p.stdout.reader.Read(buffer)
		p.output = append(p.output, buffer[:n]...)
		if len(p.output) > p.most {
			p.output = p.output[:p.most]
			close(p.tooLong)
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *pipes) readErrors() {
	buffer := make([]byte, pipeBytes)
	for {
		n, err := p.stderr.reader.Read(buffer)
		p.errors.add(buffer[:n], p.log)
		if err != nil {
			p.errors.end(p.log)
			return
		}
	}
}

// drain waits until all is read that the program has written, for a time.
func (p *pipes) drain(most time.Duration) {
	until := time.Now().Add(most)
	_ = p.stdout.reader.SetReadDeadline(until)
	_ = p.stderr.reader.SetReadDeadline(until)
	_ = p.stdin.writer.Close()
	p.copies.Wait()
}

func (p *pipes) isTooLong() bool {
	select {
	case <-p.tooLong:
		return true
	default:
		return false
	}
}

// result gives the one JSON value of the output.
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

// failure tells what a program that failed has said.
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

// shown quotes the beginning of an output.
func shown(output []byte) string {
	const most = 80
	if len(output) > most {
		return fmt.Sprintf("%q…", output[:most])
	}
	return fmt.Sprintf("%q", output)
}

// tail keeps the end of what is added to it, and tells lines.
type tail struct {
	kept []byte
	line []byte // that has not ended
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

// end tells the line that has not ended.
func (t *tail) end(log func(string)) {
	if len(t.line) > 0 {
		log(string(t.line))
		t.line = nil
	}
}
