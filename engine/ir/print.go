package ir

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Print returns the canonical text of a program: four spaces a level, one blank line between functions, double quotes, no
// comments. Parse reads it back as a program that is Equal to p, with the same Print. The program must be one that Parse could
// return: its expressions canonical, its bodies not empty. A duration is rounded up to whole milliseconds.
func Print(p *Program) string {
	var w printer
	for i, fn := range p.Functions {
		if i > 0 {
			w.out.WriteByte('\n')
		}
		w.line(fmt.Sprintf("fn %s(input: [%s], output: [%s]):", fn.Name.Text, names(fn.Inputs), names(fn.Outputs)))
		w.block(fn.Body)
	}
	return w.out.String()
}

type printer struct {
	out   strings.Builder
	level int
}

func (w *printer) line(text string) {
	for range w.level {
		w.out.WriteString("    ")
	}
	w.out.WriteString(text)
	w.out.WriteByte('\n')
}

func (w *printer) block(body []Stmt) {
	w.level++
	for _, s := range body {
		w.stmt(s)
	}
	w.level--
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Assign:
		w.assign(s)
	case *For:
		w.line("for " + names(s.Targets) + " in " + s.Over.Text + ":")
		w.block(s.Body)
	case *While:
		w.line("while " + s.Cond.Text + ":")
		w.block(s.Body)
	case *If:
		w.ifElse(s)
	case *Try:
		w.line("try:")
		w.block(s.Body)
		for _, h := range s.Handlers {
			w.line(handlerText(h))
			w.block(h.Body)
		}
	case *Return:
		texts := make([]string, len(s.Values))
		for i, v := range s.Values {
			texts[i] = v.Text
		}
		w.line(strings.TrimRight("return "+strings.Join(texts, ", "), " "))
	case *Break:
		w.line("break")
	case *Continue:
		w.line("continue")
	case *Pass:
		w.line("pass")
	case *Sleep:
		w.line("sleep " + s.Seconds.Text)
	}
}

func (w *printer) ifElse(s *If) {
	word := "if "
	for _, arm := range s.Arms {
		w.line(word + arm.Cond.Text + ":")
		w.block(arm.Body)
		word = "elif "
	}
	if len(s.Else) > 0 {
		w.line("else:")
		w.block(s.Else)
	}
}

func handlerText(h Handler) string {
	text := "except"
	if len(h.Types) > 0 {
		text += " " + names(h.Types)
	}
	if h.As != nil {
		text += " as " + h.As.Text
	}
	return text + ":"
}

func (w *printer) assign(s *Assign) {
	targets := ""
	if len(s.Targets) > 0 {
		targets = names(s.Targets) + " = "
	}
	switch v := s.Value.(type) {
	case *Parallel:
		w.line(targets + "parallel:")
		w.level++
		for _, do := range v.Do {
			w.line(rhsText(do))
		}
		w.level--
	case *Expr:
		text := v.Text
		if n := nameLen(text); targets == "" && text[:n] == wordSleep {
			// A line that begins with the bare word would be the statement.
			text = "(" + text[:n] + ")" + text[n:]
		}
		w.line(targets + text)
	default:
		w.line(targets + rhsText(v))
	}
}

// rhsText prints one line, thus no parallel.
func rhsText(value RHS) string {
	switch v := value.(type) {
	case *Action:
		return "@" + v.Name + "(" + argsText(v.Args) + ")" + policiesText(v)
	case *Call:
		return v.Name + "(" + argsText(v.Args) + ")"
	case *Spread:
		limit := ""
		if v.Limit > 0 {
			limit = " limit " + strconv.Itoa(v.Limit)
		}
		return "spread " + v.Over.Text + ":" + v.Item.Text + limit + " -> " + rhsText(v.Do)
	}
	return ""
}

func argsText(args []Arg) string {
	texts := make([]string, len(args))
	for i, a := range args {
		texts[i] = a.Name.Text + "=" + a.Value.Text
	}
	return strings.Join(texts, ", ")
}

func policiesText(a *Action) string {
	var out strings.Builder
	for _, r := range a.Retries {
		out.WriteString(" [")
		if len(r.Types) > 0 {
			out.WriteString(names(r.Types) + " -> ")
		}
		out.WriteString("retry: " + strconv.Itoa(r.Count))
		if r.Backoff > 0 {
			out.WriteString(", backoff: " + durationText(r.Backoff))
		}
		out.WriteByte(']')
	}
	if a.Timeout > 0 {
		out.WriteString(" [timeout: " + durationText(a.Timeout) + "]")
	}
	return out.String()
}

func durationText(d time.Duration) string {
	for i := len(units) - 1; i > 0; i-- {
		if d%units[i].size == 0 {
			return strconv.FormatInt(int64(d/units[i].size), 10) + units[i].name
		}
	}
	n := d / units[0].size
	if d%units[0].size > 0 {
		n++
	}
	return strconv.FormatInt(int64(n), 10) + units[0].name
}
