package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pulley/adapter/protocol"
	lines "pulley/engine/worker/protocol"
)

const (
	// drainTimeout bounds the wait for output of a process that has ended: another process may have its pipe still.
	drainTimeout = 5 * time.Second
	logLineBytes = 16 << 10
	saidMax      = 10  // kept lines of standard error
	saidRunes    = 300 // of each
)

// run reads what the process writes, until it has ended.
func (p *Process) run(out, errs *os.File) {
	var readers sync.WaitGroup
	readers.Go(func() { p.readOutput(out) })
	readers.Go(func() { p.readErrors(errs) })
	<-p.group.Done()
	until := time.Now().Add(drainTimeout)
	_, _ = out.SetReadDeadline(until), errs.SetReadDeadline(until)
	readers.Wait()
	close(p.over)
	_, _, _ = out.Close(), errs.Close(), p.in.Close()
}

// readErrors passes standard error to the log, and keeps its last lines.
func (p *Process) readErrors(errs *os.File) {
	r := lines.NewLineReader(errs, logLineBytes)
	for {
		line, _, err := r.ReadLine()
		if len(bytes.TrimSpace(line)) > 0 {
			text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD")
			p.host.log(p.number, text)
			p.keepSaid(text)
		}
		if err != nil {
			return
		}
	}
}

func (p *Process) keepSaid(text string) {
	if r := []rune(text); len(r) > saidRunes {
		text = string(r[:saidRunes]) + "…"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.said) == saidMax {
		p.said = append(p.said[:0:0], p.said[1:]...) // errors have the former ones
	}
	p.said = append(p.said, text)
}

// readOutput reads messages, until the end or a misbehaviour that ends the process. A line without its line feed is none.
func (p *Process) readOutput(out *os.File) {
	r := lines.NewLineReader(out, protocol.LineBytes)
	for continues := true; continues; {
		line, tooLong, err := r.ReadLine()
		at := time.Now()
		switch {
		case err != nil:
			if len(line) > 0 {
				p.host.log(p.number, "without a line feed at its end: "+quoteLine(line))
			}
			if errors.Is(err, lines.ErrEndless) {
				p.misbehaves(p.tooLong(line))
				p.end(fmt.Errorf("adapter process %d: %w", p.number, err)) // there is nothing more to read
			}
			return
		case tooLong:
			continues = p.misbehaves(p.tooLong(line))
		case len(bytes.TrimSpace(line)) > 0:
			continues = p.take(line, at)
		}
	}
}

func (p *Process) tooLong(line []byte) *Misbehaviour {
	return &Misbehaviour{
		About: "output", Expected: fmt.Sprintf("lines of at most %d bytes", protocol.LineBytes), Came: "a longer one: " + quoteLine(line),
		Advice: "write no longer ones",
	}
}

// misbehaves reports a misbehaviour. It ends the process, and returns false, unless the process may continue.
func (p *Process) misbehaves(m *Misbehaviour) bool {
	mayContinue := m.Harmless
	if f := p.host.config.Misbehaved; f != nil {
		mayContinue = f(p.number, m)
	}
	if !mayContinue {
		p.end(fmt.Errorf("adapter process %d: %w", p.number, m))
	}
	return mayContinue
}

// keyText is in every line with a message, and keyFirst is how it should begin.
var keyText, keyFirst = []byte(`"pulley"`), []byte(`{"pulley":`)

// messageBegin matches the begin of a message, also after other text.
var messageBegin = regexp.MustCompile(`^\s*\{|\{\s*"pulley"\s*:`)

// isText reports whether a line is no message, nor a damaged one.
func isText(line []byte) bool {
	if !bytes.Contains(line, keyText) {
		return true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(line, &object) == nil {
		_, has := object["pulley"]
		return !has
	}
	return !messageBegin.Match(line)
}

// take takes a line as a message, or passes it to the log. It returns whether the process may continue.
func (p *Process) take(line []byte, at time.Time) bool {
	r, err := protocol.ParseResponse(line)
	if (err != nil || r.Kind == "") && isText(line) {
		p.host.log(p.number, quoteLine(line))
		return p.misbehaves(&Misbehaviour{
			About: "output", Expected: "nothing but messages on standard output", Came: quoteLine(line), Harmless: true,
			Advice: "print to standard error: let descriptor 1 be standard error, and keep the original one for messages (pulley passes such text on to the log)",
		})
	}
	if !utf8.Valid(line) {
		err = errors.New("it is not UTF-8")
	}
	if err != nil && utf8.Valid(line) && json.Valid(line) {
		return p.misbehaves(&Misbehaviour{
			About: "output", Expected: "fields of the right types", Came: err.Error() + ": " + quoteLine(line), Advice: "correct that; docs/adapter.md has the types",
		})
	}
	if err != nil {
		return p.misbehaves(&Misbehaviour{
			About: "output", Expected: "messages that can be read", Came: quoteLine(line) + ": " + err.Error(),
			Advice: "write each message as one line of JSON in UTF-8, whole, with a lock around it if there are threads, and print other text to standard error",
		})
	}
	continues := true
	if !bytes.HasPrefix(line, keyFirst) && !bytes.HasPrefix(bytes.ReplaceAll(line[:min(len(line), 64)], []byte(" "), nil), keyFirst) {
		continues = p.misbehaves(&Misbehaviour{
			About: "output", Expected: `messages that begin with {"pulley":`, Came: quoteLine(line), Advice: "write the key pulley first", Harmless: true,
		})
	}
	if m := p.deliver(&r, line, at); m != nil {
		continues = p.misbehaves(m)
	}
	return continues
}

// deliver gives a message to the call that waits for it, or to the observer.
func (p *Process) deliver(r *protocol.Response, line []byte, at time.Time) *Misbehaviour {
	observed := *r
	observed.Raw = line
	switch r.Kind {
	case protocol.KindHello, protocol.KindReady:
		return p.deliverControl(r, line)
	case protocol.KindError:
		if r.Batch == 0 {
			return p.deliverControl(r, line)
		}
		return p.deliverAnswer(r, line, at)
	case protocol.KindSubmitted, protocol.KindStates:
		return p.deliverAnswer(r, line, at)
	case protocol.KindStarted, protocol.KindFinished, protocol.KindFailed, protocol.KindEnded:
		if m := p.host.checkReport(r, line); m != nil {
			return m
		}
		p.host.observe(p.number, observed, at)
	case protocol.KindProblem:
		p.host.observe(p.number, observed, at)
	default:
		return &Misbehaviour{
			About: "output", Expected: "messages of the kinds that docs/adapter.md has", Came: quoteLine(line), Harmless: true,
			Advice: "pulley ignores this kind; correct its name",
		}
	}
	return nil
}

func (p *Process) deliverControl(r *protocol.Response, line []byte) *Misbehaviour {
	p.mu.Lock()
	defer p.mu.Unlock()
	wrong := &Misbehaviour{About: "answers", Expected: string(r.Kind) + " only as an answer", Came: quoteLine(line)}
	switch {
	case p.awaited == "" && r.Kind == protocol.KindError:
		wrong.Advice = "give error the batch that it answers; tell people by problem"
		return wrong
	case p.awaited == "" || r.Kind != protocol.KindError && r.Kind != p.awaited:
		wrong.Advice = "answer hello by hello, and setup and open by ready, each once"
		return wrong
	}
	p.ready = p.ready || r.Kind == protocol.KindReady
	p.awaited = ""
	p.control <- *r // its capacity suffices for the awaited one
	return nil
}

func (p *Process) deliverAnswer(r *protocol.Response, line []byte, at time.Time) *Misbehaviour {
	p.mu.Lock()
	c := p.calls[r.Batch]
	fits := c != nil && (c.kind == r.Kind || r.Kind == protocol.KindError)
	if fits {
		delete(p.calls, r.Batch)
	}
	p.mu.Unlock()
	switch {
	case c == nil:
		return &Misbehaviour{
			About: "answers", Expected: "one answer to each submit and look, with its batch", Came: "one to no open batch: " + quoteLine(line),
			Advice: "give the batch back as it came, and answer it once",
		}
	case !fits:
		return &Misbehaviour{
			About: "answers", Expected: fmt.Sprintf("%s or error as the answer to batch %d", c.kind, r.Batch), Came: quoteLine(line),
			Advice: "answer submit by submitted, and look by states",
		}
	}
	<-p.slots
	m := c.check(r, line)
	if m != nil {
		r = &protocol.Response{Kind: protocol.KindError, Batch: r.Batch, Message: m.Error()} // for the waiting call
	} else {
		p.host.observe(p.number, *r, at)
	}
	c.answer <- *r // capacity 1, and the first answer
	return m
}

// check checks that states are those of the ids that were asked for.
func (c *Call) check(r *protocol.Response, line []byte) *Misbehaviour {
	if r.Kind != protocol.KindStates {
		return nil
	}
	seen := map[string]bool{}
	for _, s := range r.States {
		switch s.Status {
		case protocol.Unknown, protocol.Open, protocol.Completed, protocol.Failed:
		default:
			return &Misbehaviour{
				About: "answers", Expected: "in states a status that is unknown, open, completed or failed", Came: quoteLine(line), Advice: "say one of these",
			}
		}
		if c.ids[s.ID] {
			seen[s.ID] = true
		}
	}
	if len(seen) == len(c.ids) && len(seen) == len(r.States) {
		return nil
	}
	return &Misbehaviour{
		About: "answers", Expected: "in states one state for each id of look", Came: quoteLine(line),
		Advice: "answer for exactly the ids that are asked for, with the status unknown for those that the store does not have",
	}
}

// checkReport checks that a report is of an instance and a task that exist.
func (h *Host) checkReport(r *protocol.Response, line []byte) *Misbehaviour {
	wrong := &Misbehaviour{About: "reports"}
	w := h.workloadOf(r.Instance)
	switch {
	case w == nil:
		wrong.Expected, wrong.Advice = "reports of instances that were submitted", "give the id back as submit had it"
	case r.Kind == protocol.KindEnded && r.Status != protocol.Completed && r.Status != protocol.Failed:
		wrong.Expected, wrong.Advice = "ended with the status completed or failed", "report an end when the instance has ended"
	case r.Kind != protocol.KindEnded && w.Task(r.Task) == nil:
		wrong.Expected, wrong.Advice = fmt.Sprintf("reports of tasks of the workload %s", w.Name), "give the task's name as setup had it"
	case r.Round < 0 || r.Round > max(1, w.Repeat):
		wrong.Expected, wrong.Advice = fmt.Sprintf("rounds from 1 to %d", max(1, w.Repeat)), "count rounds from 1, and leave round out for a workload without repeat"
	default:
		return nil
	}
	wrong.Came = quoteLine(line)
	return wrong
}

// joinLines makes one line of an error's lines.
func joinLines(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
