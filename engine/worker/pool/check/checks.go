package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/engine/worker"
	"pulley/engine/worker/protocol"
	"pulley/internal/pause"
)

const checkHello = "hello"

const longBytes = 1 << 20

func (s *session) checkLifecycle() {
	for _, check := range []func(*session){
		(*session).hello, (*session).unknownActions, (*session).together, (*session).pieces, (*session).later, (*session).long,
		(*session).checkUnknownCancel, (*session).arguments, (*session).beats, (*session).runs, (*session).slow, (*session).checkGoodbye,
	} {
		check(s)
		if s.exited {
			return
		}
	}
}

func (s *session) hello() {
	m, came := s.await(s.options.HelloTimeout, func(*protocol.Message) bool { return true })
	switch {
	case m == nil:
		s.find(Finding{
			Check: checkHello, Expected: fmt.Sprintf("a hello within %v", s.options.HelloTimeout), Came: came,
			Advice: `write {"pulley":"hello","version":1,"name":…,"slots":…,"actions":[…]} as one line to standard output at the start, and flush it`,
		})
	case m.Kind != protocol.KindHello:
		s.find(Finding{
			Check: checkHello, Expected: "hello as the first message", Came: string(m.Kind), Advice: "send hello before anything else",
		})
	default:
		if err := m.Hello.Check(); err != nil {
			s.find(Finding{
				Check: checkHello, Expected: "a hello that is right", Came: "one where " + strings.ReplaceAll(err.Error(), "\n", "; "),
				Advice: "correct that; docs/worker-protocol.md has its fields",
			})
			break
		}
		s.greeting = m.Hello
		s.passes(checkHello)
		return
	}
	s.exited = true
}

// ask sends a text, and expects each of its attempts to fail as an unknown action does.
func (s *session) ask(check, shown, text, advice string, ids ...string) {
	s.send(text)
	s.passes(check)
	for _, id := range ids {
		m, came := s.awaitAnswer(id)
		if m == nil {
			s.find(Finding{Check: check, Sent: shown, Expected: fmt.Sprintf(`an error of type UnknownAction with the id "%s"`, id), Came: came, Advice: advice})
			return
		}
	}
}

func (s *session) unknownActions() {
	const check = "unknown action"
	line, id := s.unknown()
	s.send(line)
	s.passes(check)
	m, came := s.awaitAnswer(id)
	f := Finding{Check: check, Sent: line, Expected: "an error of type " + worker.TypeUnknownAction, Came: came, Advice: "answer each run, also one of an action that the worker does not have"}
	switch {
	case m == nil:
	case m.Kind == protocol.KindResult:
		f.Came, f.Advice = "a result", "fail attempts at actions that the worker does not have"
	case m.ErrorType != worker.TypeUnknownAction:
		f.Came, f.Advice = "an error of type "+m.ErrorType, "give it the type "+worker.TypeUnknownAction
	default:
		return
	}
	s.find(f)
}

func (s *session) together() {
	line1, id1 := s.unknown()
	line2, id2 := s.unknown()
	s.ask("two lines at once", line1+line2, line1+line2,
		"read all lines that are there: what is left in a buffer is not announced by the system again", id1, id2)
}

func (s *session) pieces() {
	line, id := s.unknown()
	s.send(line[:20])
	if pause.For(s.ctx, 50*time.Millisecond) != nil { // whether or not the worker sees the pieces separately, it must work
		return
	}
	s.ask("a line in pieces", line, line[20:], "read until the line feed before the line is taken apart", id)
}

func (s *session) later() {
	line, id := s.run(unknownAction, json.RawMessage(`{}`), `,"of_a_later_version":{"a":[1,null]}`)
	text := `{"pulley":"of_a_later_version","a":1}` + "\n" + line
	s.ask("later versions", text, text, "ignore kinds of messages and fields that you do not know", id)
}

func (s *session) long() {
	line, id := s.run(unknownAction, json.RawMessage(`{"text":"`+strings.Repeat("ü", longBytes/2)+`"}`), "")
	s.ask("a long line", fmt.Sprintf("a run of %d bytes", len(line)), line, fmt.Sprintf("take lines of up to %d bytes", protocol.LineBytes), id)
}

func (s *session) checkUnknownCancel() {
	line, id := s.unknown()
	text := `{"pulley":"cancel","id":"0"}` + "\n" + line
	s.ask("cancel of what is not there", text, text, "ignore cancels of ids that you do not have: they have been answered", id)
}

// arguments calls actions with wrong arguments, so that none has an effect.
func (s *session) arguments() {
	const check = "arguments"
	i := slices.IndexFunc(s.greeting.Actions, func(a protocol.Action) bool { return a.Args != nil && !a.Open })
	if i < 0 {
		s.leaveOut(check, "no action of hello lists its args")
		return
	}
	a := s.greeting.Actions[i]
	s.passes(check)
	s.wrongArguments(check, a.Name, `{"pulley_check_no_such_argument":1}`)
	if !s.exited && len(a.Args) > 0 && (a.Required == nil || len(a.Required) > 0) {
		s.wrongArguments(check, a.Name, `{}`)
	}
}

func (s *session) wrongArguments(check, action, args string) {
	line, id := s.run(action, json.RawMessage(args), "")
	s.send(line)
	m, came := s.awaitAnswer(id)
	f := Finding{Check: check, Sent: line, Expected: "an error of type " + worker.TypeArgument, Came: came, Advice: "check the arguments before the action is called, and continue afterwards"}
	switch {
	case m == nil:
	case m.Kind == protocol.KindResult:
		f.Came, f.Advice = "a result", "refuse arguments that the action does not take, and calls without those that it needs; or leave args out of hello"
	case m.ErrorType != worker.TypeArgument:
		f.Came, f.Advice = "an error of type "+m.ErrorType+": "+m.Text, "give it the type "+worker.TypeArgument
	default:
		return
	}
	s.find(f)
}

func (s *session) silence() time.Duration { return 10*s.greeting.Heartbeat() + s.options.Timeout }

func (s *session) beats() {
	const check = "heartbeats while idle"
	if s.greeting.HeartbeatMS == 0 {
		s.leaveOut(check, "hello has no heartbeat_ms, so that pulley never takes the worker for dead")
		return
	}
	s.passes(check)
	for range 2 {
		if m, came := s.awaitBeat(); m == nil {
			s.find(Finding{
				Check: check, Expected: fmt.Sprintf("a heartbeat each %v, as hello says", s.greeting.Heartbeat()), Came: came,
				Advice: "send heartbeats all the time, or leave heartbeat_ms out of hello: pulley would kill the worker",
			})
			return
		}
	}
}

func (s *session) awaitBeat() (*protocol.Message, string) {
	return s.await(s.silence(), func(m *protocol.Message) bool { return m.Kind == protocol.KindHeartbeat })
}

func (s *session) runs() {
	const check = "a run"
	c := s.options.Run
	if c == nil {
		s.leaveOut(check, "no action was named that may be run")
		return
	}
	s.passes(check)
	line, id := s.run(c.Action, c.Args, "")
	s.send(line)
	switch m, came := s.awaitAnswer(id); {
	case m == nil:
		s.find(Finding{Check: check, Sent: line, Expected: "a result", Came: came, Advice: "answer it; if the action takes longer, give more patience"})
	case m.Kind == protocol.KindError:
		s.find(Finding{Check: check, Sent: line, Expected: "a result", Came: "an error of type " + m.ErrorType + ": " + m.Text, Advice: "name arguments that the action succeeds with, or correct it"})
	}
}

func (s *session) slow() {
	c := s.options.Slow
	if c == nil {
		s.leaveOut("heartbeats while busy, attempts beside each other, cancel", "no action was named that takes long")
		return
	}
	line, slow := s.run(c.Action, c.Args, "")
	s.send(line)
	if s.greeting.HeartbeatMS > 0 {
		s.passes("heartbeats while busy")
		for range 2 {
			if m, came := s.awaitBeat(); m == nil {
				s.find(Finding{
					Check: "heartbeats while busy", Sent: line, Expected: fmt.Sprintf("a heartbeat each %v, as hello says", s.greeting.Heartbeat()), Came: came,
					Advice: "send heartbeats from a thread or a timer that no action can hold up",
				})
				break
			}
		}
	}
	if s.greeting.SlotCount() > 1 && !s.exited {
		other, id := s.unknown()
		s.ask("attempts beside each other", line+other, other, "work on as many attempts at once as hello has slots, or say slots: 1", id)
	}
	if s.exited {
		return
	}
	if !s.expecting[slow] {
		s.find(Finding{Check: "cancel", Sent: line, Expected: "an attempt that is still at work", Came: "its answer already", Advice: "name an action and arguments that take longer"})
		return
	}
	s.passes("cancel")
	cancel := `{"pulley":"cancel","id":"` + slow + `"}` + "\n"
	s.send(cancel)
	if m, came := s.awaitAnswer(slow); m == nil {
		s.find(Finding{
			Check: "cancel", Sent: line + cancel, Expected: fmt.Sprintf("an answer to the attempt within %v", s.options.Timeout), Came: came,
			Advice: "end what was cancelled, and answer it by result or error; pulley kills a worker that does not",
		})
		return
	}
	other, id := s.unknown()
	s.ask("work after a cancel", cancel+other, other, "a cancel ends one attempt, and not the worker", id)
}

func (s *session) checkGoodbye() {
	const check = "bye"
	s.send(string(protocol.Bye()))
	_ = s.in.Close()
	s.passes(check)
	s.end(check, "bye", "after bye, finish what is at work and exit with status 0")
}

// end expects the worker to exit with status 0.
func (s *session) end(check, sent, advice string) {
	_, came := s.await(s.options.Timeout, func(*protocol.Message) bool { return false })
	s.exited = true
	select {
	case <-s.group.Done():
		if state := s.group.State(); state != nil && state.Success() {
			return
		}
	default:
	}
	s.find(Finding{Check: check, Sent: sent, Expected: "its end with status 0", Came: came, Advice: advice})
}

func (s *session) checkGoodbyeAtWork() {
	const check = "bye behind an attempt"
	if s.hello(); s.exited {
		return
	}
	line, id := s.unknown()
	if c := s.options.Run; c != nil {
		line, id = s.run(c.Action, c.Args, "")
	}
	text := line + string(protocol.Bye())
	s.send(text)
	_ = s.in.Close()
	s.passes(check)
	if m, came := s.awaitAnswer(id); m == nil {
		s.find(Finding{Check: check, Sent: text, Expected: "an answer, and then the end", Came: came, Advice: "answer what came before bye, and then exit"})
		return
	}
	s.end(check, text, "exit with status 0 when the work is done")
}

// inputEnds closes standard input without bye, like an engine's death.
func (s *session) inputEnds() {
	const check = "end of standard input"
	if s.hello(); s.exited {
		return
	}
	_ = s.in.Close()
	s.passes(check)
	s.end(check, "the end of standard input", "exit when standard input ends: the engine has exited")
}

var errNoCall = errors.New("write the name of an action and its arguments, an object, such as mail.send {\"to\": \"x\"}")

// ParseCall parses an action and its arguments.
func ParseCall(text string) (*Call, error) {
	name, args, _ := strings.Cut(strings.TrimSpace(text), " ")
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if !worker.IsActionName(name) || !isObject(json.RawMessage(args)) || strings.ContainsAny(args, "\r\n") {
		return nil, errNoCall
	}
	return &Call{Action: name, Args: json.RawMessage(args)}, nil
}
