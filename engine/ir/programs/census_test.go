package programs

import (
	"strings"

	"pulley/engine/ir"
)

// Count is how often each construct occurs, by name; "try > for" is a for in a try. What is in a function counts as in its
// call.
type Count map[string]int

// Containers lists what can contain a construct, and Contained what each of them can contain. Loops and their contents can
// contain two more.
var (
	Containers = []string{"if", "for", "while", "try", "except", "call", "spread", "parallel"}
	Contained  = []string{
		"if", "for", "while", "try", "call", "spread", "parallel", "action", "accumulate", "unpack", "sleep", "return",
	}
	Leaving = []string{"break", "continue"}
)

var Constructs = []string{
	"fn", "assign", "bare", "pass", "unpack", "accumulate",
	"if", "elif", "else", "for", "for two names", "for range", "for enumerate", "for dict", "while", "while True",
	"break", "continue", "return", "return several", "sleep",
	"try", "except all", "except types", "except several", "except as",
	"action", "retry", "retry types", "backoff", "timeout", "call",
	"spread", "spread action", "spread call", "spread limit", "parallel", "parallel action", "parallel call", "parallel unpack",
}

func Census(p *ir.Program) Count {
	c := &census{count: Count{}, functions: map[string]*ir.Function{}, counted: map[[2]string]bool{}}
	for _, f := range p.Functions {
		c.functions[f.Name.Text] = f
	}
	for _, f := range p.Functions {
		c.count["fn"]++
		c.block("", f.Body)
	}
	return c.count
}

type census struct {
	count     Count
	functions map[string]*ir.Function
	counted   map[[2]string]bool
}

func (c *census) add(in, what string) {
	c.count[what]++
	if in != "" {
		c.count[in+" > "+what]++
	}
}

func (c *census) block(in string, body []ir.Stmt) {
	for _, s := range body {
		c.stmt(in, s)
	}
}

func (c *census) stmt(in string, s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Assign:
		c.assign(in, s)
	case *ir.For:
		c.forLoop(in, s)
	case *ir.While:
		c.add(in, "while")
		if s.Cond.Text == "True" {
			c.count["while True"]++
		}
		c.block("while", s.Body)
	case *ir.If:
		c.add(in, "if")
		for _, arm := range s.Arms {
			c.block("if", arm.Body)
		}
		c.count["elif"] += len(s.Arms) - 1
		if s.Else != nil {
			c.count["else"]++
			c.block("if", s.Else)
		}
	case *ir.Try:
		c.try(in, s)
	case *ir.Return:
		c.add(in, "return")
		if len(s.Values) > 1 {
			c.count["return several"]++
		}
	case *ir.Break:
		c.add(in, "break")
	case *ir.Continue:
		c.add(in, "continue")
	case *ir.Pass:
		c.count["pass"]++
	case *ir.Sleep:
		c.add(in, "sleep")
	}
}

func (c *census) forLoop(in string, s *ir.For) {
	c.add(in, "for")
	if len(s.Targets) == 2 {
		c.count["for two names"]++
	}
	for _, over := range []struct{ prefix, name string }{{"range(", "for range"}, {"enumerate(", "for enumerate"}, {"{", "for dict"}} {
		if strings.HasPrefix(s.Over.Text, over.prefix) {
			c.count[over.name]++
		}
	}
	c.block("for", s.Body)
}

func (c *census) try(in string, s *ir.Try) {
	c.add(in, "try")
	c.block("try", s.Body)
	for _, h := range s.Handlers {
		switch len(h.Types) {
		case 0:
			c.count["except all"]++
		case 1:
			c.count["except types"]++
		default:
			c.count["except several"]++
		}
		if h.As != nil {
			c.count["except as"]++
		}
		c.block("except", h.Body)
	}
}

func (c *census) assign(in string, s *ir.Assign) {
	switch len(s.Targets) {
	case 0:
		c.count["bare"]++
	case 1:
		c.count["assign"]++
	default:
		c.add(in, "unpack")
	}
	switch v := s.Value.(type) {
	case *ir.Expr:
		if len(s.Targets) == 1 && strings.HasPrefix(v.Text, s.Targets[0].Text+" + [") {
			c.add(in, "accumulate")
		}
	case *ir.Spread:
		c.add(in, "spread")
		if v.Limit > 0 {
			c.count["spread limit"]++
		}
		c.invocation("spread", v.Do)
	case *ir.Parallel:
		c.add(in, "parallel")
		if len(s.Targets) > 1 {
			c.count["parallel unpack"]++
		}
		for _, do := range v.Do {
			c.invocation("parallel", do)
		}
	case *ir.Action:
		c.action(in, v)
	case *ir.Call:
		c.add(in, "call")
		c.enter("call", v.Name)
	}
}

func (c *census) invocation(in string, do ir.Invocation) {
	switch do := do.(type) {
	case *ir.Action:
		c.count[in+" action"]++
		c.action(in, do)
	case *ir.Call:
		c.count[in+" call"]++
		c.add(in, "call")
		c.enter(in, do.Name)
	}
}

func (c *census) action(in string, a *ir.Action) {
	c.add(in, "action")
	for _, r := range a.Retries {
		c.count["retry"]++
		if len(r.Types) > 0 {
			c.count["retry types"]++
		}
		if r.Backoff > 0 {
			c.count["backoff"]++
		}
	}
	if a.Timeout > 0 {
		c.count["timeout"]++
	}
}

// enter counts a function's contents as inside what calls it, once for each kind of that.
func (c *census) enter(in, name string) {
	f := c.functions[name]
	if key := [2]string{in, name}; f != nil && !c.counted[key] {
		c.counted[key] = true
		c.block(in, f.Body)
	}
}
