package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"pulley/engine/worker/procgroup"
	"pulley/engine/worker/protocol"
)

const (
	drainTimeout = 2 * time.Second
	tailBytes    = 500
	logLineBytes = 16 << 10
)

// session is one incarnation of the worker.
type session struct {
	*kit
	ctx       context.Context
	group     *procgroup.Group
	in        *os.File
	lines     chan readLine // closed at the end of standard output
	errsOver  chan struct{} // closed at the end of standard error
	tail      []byte
	mu        sync.Mutex
	greeting  *protocol.Greeting
	expecting map[string]bool // sent ids: whether the answer is outstanding
	answers   map[string]*protocol.Message
	exited    bool // it has exited, or must not be asked any more
}

type readLine struct {
	raw string
	protocol.Line
}

// session starts the worker, calls life, and kills what is left.
func (k *kit) session(ctx context.Context, life func(*session)) error {
	var files [6]*os.File
	defer func() {
		for _, f := range files {
			if f != nil {
				_ = f.Close()
			}
		}
	}()
	for i := 0; i < len(files); i += 2 {
		var err error
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return fmt.Errorf("no pipe to the worker: %w", err)
		}
	}
	group, err := k.keeper.Start(procgroup.Program{
		Path: k.argv[0], Argv: k.argv, Env: procgroup.Environ(nil), Stdin: files[0], Stdout: files[3], Stderr: files[5],
	}, procgroup.Limits{})
	if err != nil {
		return fmt.Errorf("the program %s cannot be started: %w", k.argv[0], err)
	}
	_, _, _ = files[0].Close(), files[3].Close(), files[5].Close() // the worker has its own
	s := &session{kit: k, ctx: ctx, group: group, in: files[1], lines: make(chan readLine, 1000), errsOver: make(chan struct{}), expecting: map[string]bool{}, answers: map[string]*protocol.Message{}}
	over := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() { s.readOutput(files[2], over) })
	readers.Go(func() { s.readErrors(files[4]) })
	s.send(string(protocol.Hello()))
	life(s)
	group.Kill()
	<-group.Done()
	until := time.Now().Add(drainTimeout)
	_, _ = files[2].SetReadDeadline(until), files[4].SetReadDeadline(until)
	close(over)
	readers.Wait()
	return nil
}

func (s *session) readOutput(out *os.File, over <-chan struct{}) {
	defer close(s.lines)
	r := protocol.NewReader(out)
	for {
		raw, tooLong, err := r.ReadLine()
		if err != nil && len(raw) == 0 {
			return
		}
		line := readLine{raw: string(raw)}
		switch {
		case err != nil:
			line.Text = []byte(line.raw)
		case tooLong:
			line.Damage = &protocol.Damage{Err: protocol.ErrTooLong}
		default:
			line.Line = protocol.Take([]byte(line.raw))
		}
		select {
		case s.lines <- line:
		case <-over:
			return
		}
	}
}

func (s *session) readErrors(errs *os.File) {
	defer close(s.errsOver)
	r := protocol.NewLineReader(errs, logLineBytes)
	for {
		line, _, err := r.ReadLine()
		if len(line) > 0 {
			if s.options.Log != nil {
				s.options.Log(string(line))
			}
			s.mu.Lock()
			s.tail = append(append(s.tail, line...), '\n')
			s.tail = s.tail[max(0, len(s.tail)-tailBytes):]
			s.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

func (s *session) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(strings.ToValidUTF8(string(s.tail), "\uFFFD"))
	if text == "" {
		return ""
	}
	return ", and on standard error: " + text[strings.LastIndexByte(text, '\n')+1:]
}

// send sends lines. A missing answer shows that the worker does not read. It must not be asked anything else then: what it did not
// take would be missing in the middle.
func (s *session) send(text string) {
	_ = s.in.SetWriteDeadline(time.Now().Add(s.options.Timeout))
	if _, err := s.in.WriteString(text); errors.Is(err, os.ErrDeadlineExceeded) {
		s.exited = true
	}
}

// run returns the line of an attempt, and its id. Args is an object; more are additional fields, each after a comma.
func (s *session) run(action string, args json.RawMessage, more string) (line, id string) {
	s.lastID++
	id = strconv.Itoa(s.lastID)
	s.expecting[id] = true
	name, _ := json.Marshal(action)
	return fmt.Sprintf(`{"pulley":"run","id":"%s","delivery":1,"action":%s,"instance":"00000000-0000-0000-0000-000000000000","node":"check","path":"","attempt":1,`+
		`"key":"00000000-0000-0000-0000-000000000000/check","args":%s%s}`+"\n", id, name, args, more), id
}

func (s *session) unknown() (line, id string) { return s.run(unknownAction, json.RawMessage(`{}`), "") }

const unknownAction = "pulley_check.no_such_action"

// await returns the first wanted message; nil after the timeout or the worker's end, with what came instead. It notes all other
// messages.
func (s *session) await(most time.Duration, wanted func(*protocol.Message) bool) (*protocol.Message, string) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		select {
		case line, more := <-s.lines:
			if !more {
				s.exited = true
				return nil, s.ended()
			}
			s.note(line)
			if line.Message != nil && wanted(line.Message) {
				return line.Message, ""
			}
		case <-timer.C:
			return nil, fmt.Sprintf("nothing for %v", most)
		case <-s.ctx.Done():
			s.exited = true
			return nil, "nothing"
		}
	}
}

// ended describes how the worker ended, once its standard output has.
func (s *session) ended() string {
	timer := time.NewTimer(s.options.Timeout)
	defer timer.Stop()
	select {
	case <-s.group.Done():
		select {
		case <-s.errsOver:
		case <-timer.C: // a process that it started holds standard error
		}
		return fmt.Sprintf("its end with %v%s", s.group.State(), s.said())
	case <-timer.C:
		return "the end of its standard output, while it lives"
	}
}

func (s *session) awaitAnswer(id string) (*protocol.Message, string) {
	if m := s.answers[id]; m != nil {
		return m, ""
	}
	return s.await(s.options.Timeout, func(m *protocol.Message) bool { return isAnswer(m) && m.ID == id })
}

func isAnswer(m *protocol.Message) bool {
	return m.Kind == protocol.KindResult || m.Kind == protocol.KindError
}

func (s *session) note(line readLine) {
	if len(line.Text) > 0 {
		s.find(Finding{
			Check: "output", Expected: "nothing but messages on standard output", Came: strconv.Quote(string(line.Text)),
			Advice: "print to standard error: let descriptor 1 be standard error, and keep the original one for messages (pulley passes such text on to the log)",
		})
	}
	if d := line.Damage; d != nil {
		s.find(Finding{
			Check: "output", Expected: "messages that can be read", Came: strconv.Quote(line.raw) + ": " + d.Err.Error(),
			Advice: "write each message as one line of JSON in UTF-8, whole, with a lock around it if there are threads",
		})
		return
	}
	m := line.Message
	if m == nil {
		return
	}
	if begin := strings.ReplaceAll(line.raw, " ", ""); !strings.HasPrefix(begin, `{"pulley":`) && len(line.Text) == 0 {
		s.find(Finding{
			Check: "output", Expected: `messages that begin with {"pulley":`, Came: line.raw,
			Advice: "write the key pulley first, so that pulley finds the message behind something that was printed by mistake",
		})
	}
	switch {
	case !m.Kind.IsKnown():
		s.find(Finding{
			Check: "output", Expected: "messages of the kinds hello, result, error, heartbeat and bye", Came: line.raw,
			Advice: "pulley ignores this kind; correct its name",
		})
	case m.Kind == protocol.KindHello && s.greeting != nil:
		s.find(Finding{Check: "output", Expected: "hello once", Came: line.raw, Advice: "send hello at the start only"})
	case isAnswer(m):
		s.noteAnswer(m, line.raw)
	}
}

func (s *session) noteAnswer(m *protocol.Message, raw string) {
	waits, known := s.expecting[m.ID]
	switch {
	case !known:
		s.find(Finding{
			Check: "answers", Expected: "answers with the id of an attempt", Came: raw,
			Advice: "give the id of run back as it came",
		})
	case !waits:
		s.find(Finding{
			Check: "answers", Expected: "one answer to each attempt", Came: "a second one: " + raw,
			Advice: "answer an attempt once, by result or error, also if it is cancelled",
		})
	case !m.IDIsText:
		s.find(Finding{
			Check: "answers", Expected: "ids that are texts, as they came", Came: raw,
			Advice: "do not make a number of the id",
		})
	}
	if known && waits {
		s.expecting[m.ID] = false
		s.answers[m.ID] = m
	}
}
