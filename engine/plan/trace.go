package plan

import (
	"encoding/json"
	"fmt"
	"strings"

	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Describe prints a plan for people, a line for each change, with names instead of numbers.
func (p *Program) Describe(pl Plan) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	for _, wr := range pl.Writes {
		if wr.Value == nil {
			line("  unset    %s", p.slotName(wr.Slot))
			continue
		}
		line("  write    %s = %s", p.slotName(wr.Slot), short(wr.Value))
	}
	for _, a := range pl.Appends {
		line("  append   %s[%d] = %s", p.slotName(a.Slot), a.Index, short(a.Value))
	}
	for _, e := range pl.Elements {
		line("  element  %s[%d] = %s", p.RunName(e.Barrier), e.Index, short(e.Value))
	}
	for _, o := range pl.Opens {
		line("  open     %s 0/%d", p.RunName(o.Run), o.Required)
	}
	for _, a := range pl.Arrivals {
		required, soft := "", ""
		if a.Required > 0 {
			required = fmt.Sprintf(" of %d", a.Required)
		}
		if a.Soft {
			soft = " soft"
		}
		line("  arrive   %s +1%s%s", p.RunName(a.Run), required, soft)
	}
	for _, e := range pl.Enqueues {
		args := make([]string, len(e.Args))
		for i, a := range e.Args {
			value := short(a.Value)
			if a.Ref != nil {
				value = "&" + p.slotName(*a.Ref)
			}
			args[i] = a.Name + "=" + value
		}
		if e.Action == "" {
			line("  sleep    %s for %s", p.RunName(e.Run), e.After)
			continue
		}
		line("  enqueue  %s @%s(%s)", p.RunName(e.Run), e.Action, strings.Join(args, ", "))
	}
	for _, r := range pl.Resumes {
		line("  resume   %s", p.RunName(r))
	}
	for _, c := range pl.Clears {
		atWork := ""
		if c.AtWork {
			atWork = ", runs at work too"
		}
		line("  clear    region %d under %q%s", c.Region, c.Path, atWork)
	}
	if pl.Retry != nil {
		line("  retry    after %s: %s", pl.Retry.After, pl.Retry.Failure.Type)
	}
	switch {
	case pl.End == nil:
	case pl.End.Failure != nil:
		line("  end      failed: %s", pl.End.Failure)
	default:
		line("  end      completed: %s", short(pl.End.Result))
	}
	return b.String()
}

// RunName names a run for people: the node's name, with its path, if any, in brackets.
func (p *Program) RunName(r graph.Run) string {
	if r.Node < 0 || int(r.Node) >= len(p.nodes) {
		return fmt.Sprintf("node %d", r.Node)
	}
	name := p.nodes[r.Node].Name
	if r.Path == "" {
		return name
	}
	return name + "[" + string(r.Path) + "]"
}

func (p *Program) slotName(s Slot) string {
	name := p.graph.Vars[s.Var].Name
	if s.Scope == "" {
		return name
	}
	return name + "[" + string(s.Scope) + "]"
}

// String returns type, message, action and position in one line.
func (f *Failure) String() string {
	s := f.Type + ": " + f.Message
	if f.Action != "" {
		s += " (@" + f.Action + ")"
	}
	if f.Pos != (ir.Pos{}) {
		s += " at " + f.Pos.String()
	}
	return s
}

func short(v json.RawMessage) string {
	const most = 60
	if len(v) <= most {
		return string(v)
	}
	return fmt.Sprintf("%s… (%d bytes)", v[:most-10], len(v))
}

func quoted(v expr.Value) string {
	const most = 40
	if r := []rune(v.String()); len(r) > most {
		return string(r[:most]) + "…"
	}
	return v.String()
}
