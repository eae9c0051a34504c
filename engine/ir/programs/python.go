package programs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pulley/engine/ir"
)

// Unprintable names the construct that cannot be printed: Python lacks it, or means something else by it.
type Unprintable struct {
	Pos       ir.Pos
	Construct string // in the same words for all of its kind
}

func (e *Unprintable) Error() string {
	return fmt.Sprintf("%s: this is not printed as Python: %s", e.Pos, e.Construct)
}

// Python prints a program as a file with a workflow in Python, whose INPUTS has the program's input. CPython, running it
// without any engine, computes the program's result. The file imports the errors and the actions from a module language. The
// error is an *Unprintable, or that of a program that does not parse.
//
// The hints are those of the generator's names, so only its programs are printed correctly. The limit of a spread is left out:
// no result shows it.
func Python(p Program) (string, error) {
	prog, err := ir.Parse("case.ir", []byte(p.Source), ir.Limits{})
	if err != nil {
		return "", err
	}
	w := &pythonWriter{actions: map[string]*ir.Action{}, tried: map[string]bool{}}
	for _, f := range slices.Backward(prog.Functions) { // a function comes before its callers
		w.survey(f.Body, w.tried[f.Name.Text])
	}
	if strings.ContainsFunc(p.Source, func(r rune) bool { return r > 127 }) {
		w.refuse(ir.Pos{}, "a text that is not ASCII: Python counts characters, the language bytes")
	}
	for _, f := range prog.Functions {
		w.function(f)
	}
	if w.err != nil {
		return "", w.err
	}
	var out strings.Builder
	out.WriteString("import asyncio\nimport json\nfrom typing import Any, Dict, List\n\nimport language\nfrom language import Boom, Flaky, Other\n")
	fmt.Fprintf(&out, "from pulley import Workflow, action, workflow\n\nINPUTS = [json.loads(%s)]\n", strconv.QuoteToASCII(string(p.Input)))
	for _, name := range w.called {
		out.WriteString(pythonAction(w.actions[name]))
	}
	out.WriteString("\n\n@workflow\nclass Printed(Workflow):")
	out.WriteString(w.out.String())
	return out.String(), nil
}

var pythonActions = map[string]struct{ function, parameters, result string }{
	"add":    {"add", "a: Any, b: Any", "Any"},
	"double": {"double", "value: Any", "Any"},
	"echo":   {"echo", "value: Any", "Any"},
	"fail":   {"fail", "type: str, message: str", "Any"},
	"flaky":  {"flaky", "times: int", "Any"},
	"hash":   {"digest", "data: str, rounds: int", "str"},
	"items":  {"items", "count: int", "List[int]"},
	"noop":   {"noop", "", "None"},
	"sum":    {"total", "values: List[int]", "int"},
}

func pythonAction(a *ir.Action) string {
	options := []string{fmt.Sprintf("name=%q", a.Name)}
	count, on := 0, "()"
	if len(a.Retries) > 0 {
		r := a.Retries[0]
		count = r.Count
		options = append(options, fmt.Sprintf("retry=%d", count))
		if r.Backoff > 0 {
			options = append(options, fmt.Sprintf("backoff=\"%dms\"", r.Backoff.Milliseconds()))
		}
		if len(r.Types) > 0 {
			on = "("
			for _, t := range r.Types {
				on += strconv.Quote(t.Text) + ", "
			}
			on += ")"
			options = append(options, "retry_on="+on)
		}
	}
	if a.Timeout > 0 {
		options = append(options, fmt.Sprintf("timeout=\"%dms\"", a.Timeout.Milliseconds()))
	}
	f := pythonActions[a.Name]
	arguments := ""
	for parameter := range strings.SplitSeq(f.parameters, ", ") {
		if name, _, _ := strings.Cut(parameter, ":"); name != "" {
			arguments += ", " + name + "=" + name
		}
	}
	return fmt.Sprintf("\n\n@action(%s)\nasync def %s(%s) -> %s:\n    return language.attempts(%q, %d, %s%s)\n",
		strings.Join(options, ", "), f.function, f.parameters, f.result, a.Name, count, on, arguments)
}

type pythonWriter struct {
	out     strings.Builder
	level   int
	actions map[string]*ir.Action // the first call of each
	called  []string
	tried   map[string]bool // functions called where errors are caught
	main    bool            // run is being written
	tries   int
	err     *Unprintable
}

// survey collects the functions that statements call, directly or not, where errors are caught.
func (w *pythonWriter) survey(body []ir.Stmt, tried bool) {
	note := func(do ir.RHS) {
		if c, ok := do.(*ir.Call); ok && tried {
			w.tried[c.Name] = true
		}
	}
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Assign:
			switch v := s.Value.(type) {
			case *ir.Spread:
				note(v.Do)
			case *ir.Parallel:
				for _, do := range v.Do {
					note(do)
				}
			default:
				note(v)
			}
		case *ir.For:
			w.survey(s.Body, tried)
		case *ir.While:
			w.survey(s.Body, tried)
		case *ir.If:
			for _, arm := range s.Arms {
				w.survey(arm.Body, tried)
			}
			w.survey(s.Else, tried)
		case *ir.Try:
			w.survey(s.Body, true)
			for _, h := range s.Handlers {
				w.survey(h.Body, tried)
			}
		}
	}
}

func (w *pythonWriter) refuse(pos ir.Pos, construct string) {
	if w.err == nil {
		w.err = &Unprintable{pos, construct}
	}
}

func (w *pythonWriter) line(format string, args ...any) {
	w.out.WriteString(strings.Repeat("    ", w.level))
	fmt.Fprintf(&w.out, format, args...)
	w.out.WriteByte('\n')
}

func hint(name string) string {
	if strings.HasPrefix(name, "k") {
		return "int" // the counter of a while
	}
	return [kinds]string{"int", "str", "List[int]", "List[Any]", "Dict[str, Any]", "", "Any"}[kindOf(name)]
}

func (w *pythonWriter) function(f *ir.Function) {
	w.main = f.Name.Text == "main"
	label, result := f.Name.Text, "Any"
	if w.main {
		label = "run"
	} else if len(f.Outputs) == 1 {
		result = hint(f.Outputs[0].Text)
	}
	parameters := "self"
	for _, in := range f.Inputs {
		parameters += ", " + in.Text + ": " + hint(in.Text)
	}
	w.level, w.tries = 1, 0
	if w.tried[label] {
		w.tries = 1
	}
	w.out.WriteByte('\n')
	w.line("async def %s(%s) -> %s:", label, parameters, result)
	w.block(f.Body)
	var outputs []*ir.Expr
	for _, out := range f.Outputs {
		outputs = append(outputs, &ir.Expr{Pos: out.Pos, Text: out.Text})
	}
	w.level = 2
	w.leave(outputs)
}

func (w *pythonWriter) leave(values []*ir.Expr) {
	var texts []string
	for _, v := range values {
		texts = append(texts, w.expr(v))
	}
	switch len(texts) {
	case 0:
		w.line("return None")
	case 1:
		w.line("return %s", texts[0])
	default:
		w.line("return [%s]", strings.Join(texts, ", "))
	}
}

func (w *pythonWriter) block(body []ir.Stmt) {
	w.level++
	for _, s := range body {
		w.stmt(s)
	}
	w.level--
}

func (w *pythonWriter) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Assign:
		w.assign(s)
	case *ir.For:
		w.line("for %s in %s:", joined(s.Targets), w.series(s.Over))
		w.block(s.Body)
	case *ir.While:
		w.line("while %s:", w.expr(s.Cond))
		w.block(s.Body)
	case *ir.If:
		word := "if"
		for _, arm := range s.Arms {
			w.line("%s %s:", word, w.expr(arm.Cond))
			w.block(arm.Body)
			word = "elif"
		}
		if s.Else != nil {
			w.line("else:")
			w.block(s.Else)
		}
	case *ir.Try:
		w.try(s)
	case *ir.Return:
		w.leave(s.Values)
	case *ir.Break:
		w.line("break")
	case *ir.Continue:
		w.line("continue")
	case *ir.Pass:
		w.line("pass")
	case *ir.Sleep:
		if strings.HasPrefix(s.Seconds.Text, "-") || strings.HasPrefix(s.Seconds.Text, `"`) {
			w.refuse(s.Pos, "a sleep that fails in the language only")
		}
		w.line("await asyncio.sleep(%s)", w.expr(s.Seconds))
	}
}

func joined(names []ir.Name) string {
	var texts []string
	for _, n := range names {
		texts = append(texts, n.Text)
	}
	return strings.Join(texts, ", ")
}

func (w *pythonWriter) try(s *ir.Try) {
	w.line("try:")
	w.tries++
	w.block(s.Body)
	w.tries--
	for _, h := range s.Handlers {
		types := joined(h.Types)
		switch {
		case len(h.Types) == 0:
			types = "Exception"
		case len(h.Types) > 1:
			types = "(" + types + ")"
		}
		if h.As == nil {
			w.line("except %s:", types)
			w.block(h.Body)
			continue
		}
		if kindOf(h.As.Text) != failure {
			w.refuse(h.Pos, errorAsValue)
		}
		w.line("except %s as error:", types)
		w.level++
		w.line("%s_type = type(error).__name__", h.As.Text)
		w.line("%s_message = str(error)", h.As.Text)
		w.level--
		w.block(h.Body)
	}
}

// Python has only the type and text of an error.
const errorAsValue = "an error as a value"

func (w *pythonWriter) assign(s *ir.Assign) {
	value := w.rhs(s)
	switch len(s.Targets) {
	case 0:
		w.line("%s", value)
	case 1:
		target := s.Targets[0].Text
		if e, ok := s.Value.(*ir.Expr); ok {
			if added := w.added(target, e); added != "" {
				w.line("%s += %s", target, added)
				return
			}
		}
		w.line("%s: %s = %s", target, hint(target), value)
	default:
		w.unpack(s, value)
	}
}

// unpack assigns several names at once; through others if the hints of what is unpacked differ.
func (w *pythonWriter) unpack(s *ir.Assign, value string) {
	untyped := func(do ir.Invocation) bool {
		a, ok := do.(*ir.Action)
		return ok && pythonActions[a.Name].result == "Any"
	}
	if p, ok := s.Value.(*ir.Parallel); !ok || !slices.ContainsFunc(p.Do, untyped) {
		w.line("%s = %s", joined(s.Targets), value)
		return
	}
	var parts []string
	for i := range s.Targets {
		parts = append(parts, fmt.Sprintf("part%d", i))
	}
	w.line("%s = %s", strings.Join(parts, ", "), value)
	for i, t := range s.Targets {
		w.line("%s: %s = %s", t.Text, hint(t.Text), parts[i])
	}
}

func (w *pythonWriter) rhs(s *ir.Assign) string {
	unpacks := len(s.Targets) > 1
	switch v := s.Value.(type) {
	case *ir.Expr:
		if n := w.elements(v); unpacks && n != len(s.Targets) {
			w.refuse(s.Pos, "unpacking what may have another length: its error has another text")
		}
		return w.expr(v)
	case *ir.Parallel:
		if unpacks && len(v.Do) != len(s.Targets) {
			w.refuse(s.Pos, "unpacking what may have another length: its error has another text")
		}
		var calls []string
		for _, do := range v.Do {
			calls = append(calls, w.call(do))
		}
		return "await asyncio.gather(" + strings.Join(calls, ", ") + ")"
	case *ir.Spread:
		if unpacks {
			w.refuse(s.Pos, "unpacking what may have another length: its error has another text")
		}
		return fmt.Sprintf("await asyncio.gather(*[%s for %s in %s])", w.call(v.Do), v.Item.Text, w.series(v.Over))
	case ir.Invocation:
		if unpacks {
			w.refuse(s.Pos, "unpacking what may have another length: its error has another text")
		}
		return "await " + w.call(v)
	}
	return ""
}

func (w *pythonWriter) call(do ir.Invocation) string {
	var function string
	var args []ir.Arg
	switch do := do.(type) {
	case *ir.Action:
		function, args = pythonActions[do.Name].function, do.Args
		if function == "" {
			w.refuse(do.Pos, "the action "+do.Name)
		}
		w.use(do)
	case *ir.Call:
		function, args = "self."+do.Name, do.Args
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, a.Name.Text+"="+w.expr(a.Value))
	}
	return function + "(" + strings.Join(texts, ", ") + ")"
}

// use records a called action. In Python, its definition has its retries.
func (w *pythonWriter) use(a *ir.Action) {
	if len(a.Retries) > 1 {
		w.refuse(a.Pos, "several policies of one call")
	}
	first := w.actions[a.Name]
	if first == nil {
		w.actions[a.Name] = a
		w.called = append(w.called, a.Name)
		return
	}
	same := func(a, b ir.Retry) bool {
		return joined(a.Types) == joined(b.Types) && a.Count == b.Count && a.Backoff == b.Backoff
	}
	if a.Timeout != first.Timeout || !slices.EqualFunc(a.Retries, first.Retries, same) {
		w.refuse(a.Pos, "calls of one action with different policies")
	}
}
