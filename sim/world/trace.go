package world

import (
	"fmt"
	"io"
	"time"

	"pulley/engine/dispatch"
	"pulley/engine/graph"
	"pulley/sim/cases"
)

// Trace is a world's steps, for people.
type Trace struct {
	Steps []Step

	case_ cases.Case
	load  *cases.Workload
}

// NewTrace makes an empty trace of a case.
func NewTrace(c cases.Case, load *cases.Workload) *Trace { return &Trace{load: load, case_: c} }

// Step is one line of a trace.
type Step struct {
	At      int64 // ns
	What    StepKind
	Who     int
	A, B, C int64
	Text    string
}

func (t *Trace) add(w *World, what StepKind, who int, a, b, c int64) {
	t.Steps = append(t.Steps, Step{At: w.Now, What: what, Who: who, A: a, B: b, C: c})
}

// Say adds a text to the last step.
func (t *Trace) Say(text string) {
	if n := len(t.Steps); n > 0 {
		t.Steps[n-1].Text = text
	}
}

// Write writes a line for each step.
func (t *Trace) Write(to io.Writer) error {
	for i := range t.Steps {
		s := &t.Steps[i]
		if _, err := fmt.Fprintf(to, "%6d %12s  %-8s %s\n", i+1, time.Duration(s.At).Round(time.Microsecond), s.place(), t.Words(s)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Step) place() string {
	switch s.What {
	case Submits, Cancels, Answered:
		return "client"
	case Committed, Waits, Served, ServerUp, Applied, Retried, Ended, Leased, ReturnsLease, Forgets, PutsFirst:
		return "server"
	case FaultBegan, Violated:
		return ""
	}
	return EngineNames[s.Who%len(EngineNames)]
}

// Words describes a step.
func (t *Trace) Words(s *Step) string {
	text := t.words(s)
	if s.Text != "" {
		text += ": " + s.Text
	}
	return text
}

var opNames = [...]dispatch.Op{dispatch.OpSubmit, dispatch.OpClaim, dispatch.OpComplete, dispatch.OpRenew, dispatch.OpSweep, dispatch.OpNotify}

func (t *Trace) words(s *Step) string {
	node := func(id int64) string { return t.load.Compiled.Graph().Nodes[graph.NodeID(id)].Name }
	switch s.What {
	case Began, Died, Stopped:
		return fmt.Sprintf("%s, incarnation %d", s.What, s.A)
	case Submits, Answered, Cancels:
		return fmt.Sprintf("%s: instance %d, %s", s.What, s.A, EngineNames[s.Who%len(EngineNames)])
	case Calls:
		return fmt.Sprintf("call %d: %s on shard %d", s.A, opNames[s.B], s.C)
	case Answers:
		return fmt.Sprintf("answer to call %d: %s%s", s.A, opNames[s.B], failed(s.C))
	case Sends:
		return fmt.Sprintf("sends %d statements on connection %d", s.B, s.A)
	case Waits:
		return fmt.Sprintf("connection %d waits for a lock", s.Who)
	case Served:
		return fmt.Sprintf("has an answer for connection %d%s", s.Who, failed(s.A))
	case Replied:
		return fmt.Sprintf("hears on connection %d%s", s.A, failed(s.B))
	case Committed:
		return fmt.Sprintf("commit %d, of connection %d", s.B, s.Who)
	case Starts:
		return fmt.Sprintf("task starts: instance %d, %s, token %d", s.A, node(s.B), s.C)
	case Done, Disconnected:
		return fmt.Sprintf("%s: %d", s.What, s.A)
	case Leased:
		return fmt.Sprintf("lease: instance %d, %s, token %d, attempt %d", s.Who, node(s.A), s.B, s.C)
	case ReturnsLease:
		return fmt.Sprintf("lease given back: instance %d, %s", s.Who, node(s.A))
	case Applied:
		return fmt.Sprintf("completion applied: instance %d, %s, token %d, attempt %d", s.Who, node(s.A), s.B, s.C)
	case Retried:
		return fmt.Sprintf("to be tried again: instance %d, %s", s.Who, node(s.A))
	case Stale:
		return fmt.Sprintf("completion stale: instance %d, token %d", s.A, s.B)
	case Ended:
		return fmt.Sprintf("instance %d ends", s.Who)
	case FaultBegan:
		return fmt.Sprintf("FAULT %s %d for %v by %d", cases.Kinds()[s.A], s.Who, time.Duration(NS(s.B)), s.C)
	case Owns, Loses, Replays:
		return fmt.Sprintf("%s: %d, epoch %d", s.What, s.A, s.B)
	}
	return s.What.String()
}

func failed(code int64) string {
	if code == 0 {
		return ""
	}
	return ", an error"
}
