package pool

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/procgroup"
	"pulley/engine/worker/protocol"
)

const (
	// of reading an ended worker's output
	drainTimeout = 2 * time.Second
	// of a logged line
	logLineBytes = 16 << 10
	// of the end of standard error, in the error of a failed start
	tailBytes = 2 << 10
	// unexpected answers, at most
	abandonedReported = 10
	// quietChecks is the number of successive silent checks, within the silence, that end a worker. Checks are counted, not
	// time, because a paused process makes no checks either.
	quietChecks = 5
)

type ending struct {
	why        error
	notAtFault bool // its attempts are not to blame
	orderly    bool // requested, by either side
	refused    bool // it cannot work, and another start would not help
	unbegun    bool // it failed before its hello: standard error says why
}

type member struct {
	pool *Pool
	from string
	slot *slot

	group         *procgroup.Group
	stdin         *os.File
	stdout        *os.File
	stderr        *os.File
	out           outbox
	readers       sync.WaitGroup
	greetings     chan *protocol.Greeting // capacity 1
	greetingWrong error                   // written before a nil is sent
	goodbyes      chan struct{}           // capacity 1
	over          chan struct{}           // closed at the end of standard output
	ends          chan ending             // capacity 1

	heard     atomic.Uint64
	inLog     atomic.Bool // a call of Log is blocking the reader
	tail      []byte
	busy      bool
	answers   int
	greeted   bool // used by the reader of standard output
	saidBye   bool // likewise
	abandoned int  // unexpected answers; likewise
}

func (p *Pool) newMember(number int) *member {
	w := &member{
		pool: p, from: fmt.Sprintf("%s[%d]", p.config.Name, number),
		greetings: make(chan *protocol.Greeting, 1), goodbyes: make(chan struct{}, 1), over: make(chan struct{}), ends: make(chan ending, 1),
	}
	w.out.wake = make(chan struct{}, 1)
	w.slot = &slot{send: w.out.add, work: map[uint64]*attempt{}, owner: w, emptied: make(chan struct{})}
	return w
}

// end requests the end of the process. The first reason counts.
func (w *member) end(e ending) {
	select {
	case w.ends <- e:
	default:
	}
}

// abandonAttempt reports an answer that no caller waits for, up to the bound.
func (w *member) abandonAttempt(id string) {
	if w.abandoned++; w.abandoned <= abandonedReported {
		w.problem(fmt.Errorf("it answered %q, which it does not have, or has answered already", id))
	}
}

func (w *member) problem(err error) {
	if w.pool.config.Problem != nil {
		w.pool.config.Problem(fmt.Errorf("%s: %w", w.from, err))
	}
}

func (w *member) log(line []byte) {
	if w.pool.config.Log != nil {
		w.pool.config.Log(w.from, strings.ToValidUTF8(string(line[:min(len(line), logLineBytes)]), "\uFFFD"))
	}
}

func (w *member) live() ending {
	if err := w.start(); err != nil {
		return ending{why: err, refused: errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission)}
	}
	stopped := make(chan struct{})
	w.readers.Go(w.readOutput)
	w.readers.Go(w.readErrors)
	w.readers.Go(func() { w.out.write(w.stdin, stopped) })
	w.out.add(protocol.Hello())
	greeting, end := w.awaitHello()
	if greeting != nil {
		end = w.serve(greeting)
	}
	w.group.Kill()
	<-w.group.Done()
	until := time.Now().Add(drainTimeout)
	_, _ = w.stdout.SetReadDeadline(until), w.stderr.SetReadDeadline(until)
	close(stopped)
	_ = w.stdin.Close() // the writer may have closed it already
	w.readers.Wait()    // earlier answers count
	closeFiles(w.stdout, w.stderr)
	end.addTail(w.tail)
	w.leave(&end)
	return end
}

func (w *member) start() error {
	pipes, err := openPipes(3)
	if err != nil {
		return err
	}
	in, out, errs := pipes[0], pipes[1], pipes[2]
	w.stdin, w.stdout, w.stderr = in.writer, out.reader, errs.reader
	w.group, err = w.pool.keeper.Start(procgroup.Program{
		Path: w.pool.argv[0], Argv: w.pool.argv, Dir: w.pool.config.Dir, Env: procgroup.Environ(w.pool.config.Env),
		Stdin: in.reader, Stdout: out.writer, Stderr: errs.writer,
	}, w.pool.config.Limits)
	closeFiles(in.reader, out.writer, errs.writer)
	if err != nil {
		closeFiles(w.stdin, w.stdout, w.stderr)
		return fmt.Errorf("the program %s cannot be started: %w", w.pool.program, err)
	}
	return nil
}

type pipe struct{ reader, writer *os.File }

func openPipes(n int) (pipes []pipe, err error) {
	for range n {
		var p pipe
		if p.reader, p.writer, err = os.Pipe(); err != nil {
			for _, p := range pipes {
				closeFiles(p.reader, p.writer)
			}
			return nil, fmt.Errorf("no pipe to a worker: %w", err)
		}
		pipes = append(pipes, p)
	}
	return pipes, nil
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// awaitHello returns nil if the worker must end.
func (w *member) awaitHello() (*protocol.Greeting, ending) {
	timer := time.NewTimer(w.pool.config.HelloTimeout)
	defer timer.Stop()
	select {
	case g := <-w.greetings:
		if g == nil {
			return nil, failedStart("its hello is wrong: %w", w.greetingWrong)
		}
		if err := w.pool.greet(g); err != nil {
			return nil, failedStart("its hello is wrong: %w", err)
		}
		return g, ending{}
	case <-w.group.Done():
		end := failedStart("%w before it said hello", w.howItEnded())
		end.refused = w.group.State() != nil && w.group.State().ExitCode() == exitRefused
		return nil, end
	case <-timer.C:
		return nil, failedStart("it did not say hello within %v", w.pool.config.HelloTimeout)
	case e := <-w.ends:
		return nil, e
	case <-w.pool.open.Done():
		return nil, ending{why: errClosed, orderly: true}
	}
}

func failedStart(format string, args ...any) ending {
	return ending{why: fmt.Errorf(format, args...), unbegun: true}
}

func (e *ending) addTail(tail []byte) {
	if said := strings.TrimSpace(strings.ToValidUTF8(string(tail), "\uFFFD")); said != "" && e.unbegun {
		e.why = fmt.Errorf("%w: %s", e.why, said)
	}
}

func (w *member) serve(g *protocol.Greeting) ending {
	p := w.pool
	p.mu.Lock()
	w.slot.slots = g.SlotCount()
	if p.config.Slots > 0 {
		w.slot.slots = min(w.slot.slots, p.config.Slots)
	}
	p.desk.join(w.slot, time.Now())
	p.mu.Unlock()
	var checks <-chan time.Time
	if g.HeartbeatMS > 0 {
		tick := time.NewTicker(p.config.silence(g.Heartbeat()) / quietChecks)
		defer tick.Stop()
		checks = tick.C
	}
	quiet, heard := 0, w.heard.Load()
	for {
		select {
		case <-checks:
			now := w.heard.Load()
			if now != heard || w.inLog.Load() {
				quiet, heard = 0, now
				continue
			}
			if quiet++; quiet > quietChecks {
				return ending{why: fmt.Errorf("it was silent for %v, although it sends heartbeats", p.config.silence(g.Heartbeat()))}
			}
		case e := <-w.ends:
			return e
		case <-w.group.Done():
			return ending{why: w.howItEnded()}
		case <-w.over:
			select {
			case e := <-w.ends: // why it is not read any more
				return e
			default:
				return w.awaitExit(errors.New("it closed its standard output"))
			}
		case <-p.open.Done():
			return w.dismiss()
		case <-w.goodbyes:
			return w.dismiss()
		}
	}
}

func (w *member) howItEnded() error {
	if w.group.Overrun() {
		return fmt.Errorf("it was killed, since it had more than its limit of %d processes", w.pool.config.Limits.Processes)
	}
	return fmt.Errorf("it ended with %v", w.group.State())
}

func (w *member) awaitExit(otherwise error) ending {
	timer := time.NewTimer(w.pool.config.Grace)
	defer timer.Stop()
	select {
	case <-w.group.Done():
		return ending{why: w.howItEnded()}
	case <-timer.C:
		return ending{why: otherwise}
	case <-w.pool.alive.Done():
		return ending{why: errClosed, notAtFault: true}
	}
}

func (w *member) dismiss() ending {
	w.pool.mu.Lock()
	w.pool.desk.retire(w.slot, time.Now())
	w.pool.mu.Unlock()
	w.out.finish(protocol.Bye())
	select {
	case <-w.group.Done():
		return ending{why: w.howItEnded(), orderly: !w.group.Overrun()}
	case e := <-w.ends:
		return e
	case <-w.pool.alive.Done():
		return ending{why: errClosed, notAtFault: true}
	case <-w.slot.emptied:
	}
	timer := time.NewTimer(w.pool.config.byeGrace)
	defer timer.Stop()
	select {
	case <-w.group.Done():
	case <-w.pool.alive.Done():
	case <-timer.C:
		w.problem(fmt.Errorf("it did not end within %v of bye, and was killed", w.pool.config.byeGrace))
	}
	return ending{why: errors.New("it was to end"), orderly: true}
}

func (w *member) leave(end *ending) {
	p := w.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	w.answers, w.busy = w.slot.answers, len(w.slot.work) > 0
	if w.busy {
		end.orderly = false
	}
	p.desk.leave(w.slot, fmt.Errorf("%s: %w", w.from, end.why), !end.notAtFault, time.Now())
	if p.closed {
		p.desk.fail(errClosed)
	}
}

func (w *member) readOutput() {
	defer close(w.over)
	lines := protocol.NewReader(w.stdout)
	for {
		line, err := lines.Next()
		if errors.Is(err, protocol.ErrEndless) {
			w.end(ending{why: err})
		}
		if err != nil {
			return
		}
		if len(line.Text) > 0 {
			w.inLog.Store(true)
			w.log(line.Text)
			w.inLog.Store(false)
		}
		switch {
		case line.Damage != nil:
			w.heard.Add(1)
			w.recordDamage(line.Damage)
		case line.Message != nil:
			w.heard.Add(1)
			w.assign(line.Message)
		}
	}
}

func (w *member) assign(m *protocol.Message) {
	switch m.Kind {
	case protocol.KindHello:
		if w.greeted {
			w.problem(errors.New("it said hello a second time"))
			return
		}
		w.greeted = true
		w.greetings <- m.Hello
	case protocol.KindResult:
		w.pool.answered(w.slot, m.ID, outcome{value: m.Value})
	case protocol.KindError:
		w.pool.answered(w.slot, m.ID, outcome{err: &worker.Error{Type: m.ErrorType, Message: m.Text}})
	case protocol.KindBye:
		if !w.saidBye {
			w.saidBye = true
			w.goodbyes <- struct{}{}
		}
	}
}

// recordDamage handles an unreadable message. The attempt that it answers fails; if that is unknown, the worker must end.
func (w *member) recordDamage(d *protocol.Damage) {
	switch {
	case d.LosesAnswer():
		w.end(ending{why: fmt.Errorf("a message of it cannot be read, so that nobody knows what it answers: %w", d.Err)})
	case d.Kind == protocol.KindHello && !w.greeted:
		w.greeted, w.greetingWrong = true, d.Err
		w.greetings <- nil
	case d.ID == "":
		w.problem(fmt.Errorf("its message %q cannot be read: %w", d.Kind, d.Err))
	case errors.Is(d.Err, protocol.ErrTooLong):
		w.pool.answered(w.slot, d.ID, outcome{err: &worker.Error{Type: worker.TypeLimit, Message: "the worker's answer cannot be taken: " + d.Err.Error()}})
	default:
		w.pool.answered(w.slot, d.ID, outcome{err: &worker.Error{Type: worker.TypeResult, Message: "the worker's answer cannot be read: " + d.Err.Error()}})
	}
}

func (w *member) readErrors() {
	lines := protocol.NewLineReader(w.stderr, logLineBytes)
	for {
		line, _, err := lines.ReadLine()
		if len(line) > 0 || err == nil {
			w.log(line)
			w.keep(line)
		}
		if err != nil {
			return
		}
	}
}

func (w *member) keep(line []byte) {
	w.tail = append(append(w.tail, line...), '\n')
	if over := len(w.tail) - tailBytes; over > 0 {
		w.tail = append(w.tail[:0], w.tail[over:]...)
	}
}
