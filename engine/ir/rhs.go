package ir

import (
	"math"
	"strconv"
	"strings"
	"time"
)

func (p *parser) rhs() (RHS, error) {
	if p.atParallel() {
		return p.parallel()
	}
	var value RHS
	var err error
	switch {
	case p.atSpread(): // first: a function may have that name too
		value, err = p.spread()
	case p.atInvocation():
		value, err = p.invocation()
	default:
		return p.exprLine()
	}
	if err != nil {
		return nil, err
	}
	return value, p.endInvocation(value)
}

func (p *parser) exprLine() (RHS, error) {
	value, err := p.expr("a value")
	if err != nil {
		return nil, err
	}
	if p.atOp(",") {
		return nil, p.wrong(p.tok(), "several values without brackets; write a list: [a, b]")
	}
	return value, p.endLine("the expression")
}

func (p *parser) endInvocation(value RHS) error {
	what := "spread ..."
	switch v := value.(type) {
	case *Action:
		what = "@" + v.Name + "(...)"
	case *Call:
		if p.atOp("[") && p.atPolicy() {
			return p.wrong(p.tok(), "a policy belongs to an action; write it in fn %s, after the action it is for", v.Name)
		}
		what = v.Name + "(...)"
	}
	t := p.tok()
	operator := t.kind == kOp && !isAssignment(p.text(t)) || t.kind == kName && operatorWords[p.text(t)]
	if operator {
		return p.wrong(t, "%s must be assigned before its result is used; write r = %s and continue with r", what, what)
	}
	return p.endLine(what)
}

// atPolicy distinguishes [retry: ...], [timeout: ...] and [A, B -> ...] from an index or a slice.
func (p *parser) atPolicy() bool {
	word, after := p.peek(1), p.peek(2)
	if word.kind != kName {
		return false
	}
	return p.isOp(after, ",") || p.isOp(after, "->") ||
		p.isOp(after, ":") && (p.isWord(word, wordRetry) || p.isWord(word, wordTimeout))
}

// atParallel distinguishes the block from a variable of that name.
func (p *parser) atParallel() bool { return p.atWord(wordParallel) && p.isOp(p.peek(1), ":") }

// atSpread distinguishes a spread from an expression that begins with a variable of that name: an operand follows, and if that
// could be an index or the like, the arrow decides.
func (p *parser) atSpread() bool {
	if !p.atWord(wordSpread) {
		return false
	}
	next := p.peek(1)
	switch next.kind {
	case kName:
		if !operatorWords[p.text(next)] {
			return true
		}
	case kNumber, kString:
		return true
	case kOp:
		if p.isOp(next, "{") || p.isOp(next, "@") || p.isOp(next, ":") {
			return true
		}
	}
	depth := 0
	for _, t := range p.toks[p.next:] {
		switch text := p.text(t); {
		case t.kind == kNewline || t.kind == kBad:
			return false
		case t.kind != kOp:
		case closers[text] != "":
			depth++
		case text == ")" || text == "]" || text == "}":
			depth--
		case text == "->" && depth == 0:
			return true
		}
	}
	return false
}

func (p *parser) atInvocation() bool {
	return p.atOp("@") ||
		p.atKind(kName) && p.functions[p.text(p.tok())] && p.isOp(p.peek(1), "(")
}

func (p *parser) invocation() (Invocation, error) {
	switch {
	case p.atOp("@"):
		return p.action()
	case p.atInvocation():
		return p.call()
	case p.atKind(kName) && p.isOp(p.peek(1), "("):
		return nil, p.unknownFunction(p.tok())
	}
	return nil, p.unexpected("an action or a call, as in @name(x=x)")
}

func (p *parser) unknownFunction(t token) error {
	name := p.text(t)
	if _, ok := builtins[name]; ok {
		return p.wrong(t, "%s is a function of expressions and cannot run here; write an action, @name(...), or a fn "+
			"of the program", name)
	}
	return p.wrong(t, "unknown function %s; write @%s(...) for an action, or fn %s(...) in this file", name, name, name)
}

func (p *parser) action() (Invocation, error) {
	a := &Action{Pos: p.take()}
	name, err := p.anyName("the name of an action, as in @name(x=x)")
	if err != nil {
		return nil, err
	}
	var dotted strings.Builder
	dotted.WriteString(name.Text)
	for p.atOp(".") {
		p.take()
		if name, err = p.anyName("a name after the dot, as in @mail.send(to=x)"); err != nil {
			return nil, err
		}
		dotted.WriteString("." + name.Text)
	}
	a.Name = dotted.String()
	if a.Args, err = p.args("@" + a.Name); err != nil {
		return nil, err
	}
	for p.atOp("[") {
		if err := p.policy(a); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (p *parser) call() (Invocation, error) {
	c := &Call{Name: p.text(p.tok())}
	c.Pos = p.take()
	var err error
	c.Args, err = p.args(c.Name)
	return c, err
}

func (p *parser) args(callee string) ([]Arg, error) {
	form := callee + "(name=value)"
	if err := p.expect("(", form); err != nil {
		return nil, err
	}
	var args []Arg
	seen := map[string]bool{}
	for !p.atOp(")") {
		if !p.atKind(kName) || !p.isOp(p.peek(1), "=") {
			return nil, p.wrong(p.tok(), "found %s; %s takes keyword arguments only, write %s",
				p.describe(p.tok()), callee, form)
		}
		name, err := p.anyName("a name")
		if err != nil {
			return nil, err
		}
		if seen[name.Text] {
			return nil, Errorf(name.Pos, "the argument %s is given twice; remove one", name.Text)
		}
		seen[name.Text] = true
		p.take()
		value, err := p.expr("a value for " + name.Text)
		if err != nil {
			return nil, err
		}
		args = append(args, Arg{Name: name, Value: value})
		if !p.atOp(",") {
			break
		}
		p.take()
	}
	return args, p.expect(")", form)
}

const (
	formRetry   = "[Timeout -> retry: 3, backoff: 200ms]"
	formTimeout = "[timeout: 5s]"
)

func (p *parser) policy(a *Action) error {
	if !p.atPolicy() {
		return p.notPolicy(a)
	}
	pos := p.take()
	if p.atWord(wordTimeout) && p.isOp(p.peek(1), ":") {
		return p.timeout(a)
	}
	r := Retry{Pos: pos}
	if !p.isOp(p.peek(1), ":") {
		var err error
		if r.Types, err = p.types(); err != nil {
			return err
		}
	}
	if n := len(a.Retries); n > 0 && catchesAll(a.Retries[n-1].Types) {
		return Errorf(pos, "this retry is never used, the one before it is for every error; write it first or remove it")
	}
	if err := p.retry(&r); err != nil {
		return err
	}
	a.Retries = append(a.Retries, r)
	return nil
}

func (p *parser) notPolicy(a *Action) error {
	word := p.peek(1)
	if word.kind == kName && p.isOp(p.peek(2), ":") {
		return p.wrong(word, "%s is not a policy; write %s or %s, and assign the result of @%s before slicing it",
			p.text(word), formRetry, formTimeout, a.Name)
	}
	return p.wrong(p.tok(), "the result of @%s cannot be indexed here; assign it first: r = @%s(...), then r[...]",
		a.Name, a.Name)
}

func (p *parser) timeout(a *Action) error {
	at := p.take()
	p.take()
	d, err := p.duration(formTimeout)
	if err != nil {
		return err
	}
	switch {
	case a.Timeout > 0:
		return Errorf(at, "a second timeout for @%s; remove one", a.Name)
	case d == 0:
		return Errorf(at, "a timeout of nothing; leave it out for none, or write how long, as in %s", formTimeout)
	}
	a.Timeout = d
	return p.expect("]", formTimeout)
}

func (p *parser) types() ([]Name, error) {
	var types []Name
	for {
		name, err := p.anyName("a type of error, as in " + formRetry)
		if err != nil {
			return nil, err
		}
		types = append(types, name)
		if !p.atOp(",") {
			return types, p.expect("->", formRetry)
		}
		p.take()
	}
}

func (p *parser) retry(r *Retry) error {
	if err := p.expectWord(wordRetry, formRetry); err != nil {
		return err
	}
	if err := p.expect(":", formRetry); err != nil {
		return err
	}
	var err error
	if r.Count, err = p.integer("the number of further attempts, as in " + formRetry); err != nil {
		return err
	}
	if !p.atOp(",") {
		return p.expect("]", formRetry)
	}
	p.take()
	if err := p.expectWord(wordBackoff, formRetry); err != nil {
		return err
	}
	if err := p.expect(":", formRetry); err != nil {
		return err
	}
	if r.Backoff, err = p.duration(formRetry); err != nil {
		return err
	}
	return p.expect("]", formRetry)
}

func (p *parser) integer(want string) (int, error) {
	t := p.tok()
	text := p.text(t)
	if t.kind != kNumber || strings.Trim(text, "0123456789") != "" {
		return 0, p.unexpected("a whole number: " + want)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt32 {
		return 0, p.wrong(t, "%s is too large; write at most %d", p.describe(t), math.MaxInt32)
	}
	p.take()
	return int(n), nil
}

var units = []struct {
	name string
	size time.Duration
}{
	{"ms", time.Millisecond},
	{"s", time.Second},
	{"m", time.Minute},
	{"h", time.Hour},
}

func (p *parser) duration(form string) (time.Duration, error) {
	number := p.tok()
	n, err := p.integer("a duration in ms, s, m or h, as in " + form)
	if err != nil {
		return 0, err
	}
	size := time.Second
	if p.atKind(kName) {
		size = 0
		for _, u := range units {
			if p.atWord(u.name) {
				size = u.size
			}
		}
		if size == 0 {
			return 0, p.wrong(p.tok(), "%s is not a unit of time; write ms, s, m or h", p.text(p.tok()))
		}
		p.take()
	}
	if n > int(math.MaxInt64/size) {
		return 0, p.wrong(number, "the duration is too long; write less than 292 years")
	}
	return time.Duration(n) * size, nil
}

func (p *parser) spread() (RHS, error) {
	s := &Spread{Pos: p.take()}
	var err error
	if s.Over, err = p.expr("the list to go through, as in " + formSpread); err != nil {
		return nil, err
	}
	if err = p.expect(":", formSpread); err != nil {
		return nil, err
	}
	if s.Item, err = p.name("a name for the element, as in " + formSpread); err != nil {
		return nil, err
	}
	if p.atWord(wordLimit) {
		p.take()
		number := p.tok()
		if s.Limit, err = p.integer("how many run at once, as in spread xs:x limit 10 -> @name(x=x)"); err != nil {
			return nil, err
		}
		if s.Limit == 0 {
			return nil, p.wrong(number, "a limit of 0 runs nothing; write at least 1, or leave the limit out")
		}
	}
	if err = p.expect("->", formSpread); err != nil {
		return nil, err
	}
	s.Do, err = p.invocation()
	return s, err
}

// Each line of a parallel is one invocation.
func (p *parser) parallel() (RHS, error) {
	s := &Parallel{Pos: p.take()}
	if err := p.openBlock("parallel:", "its calls by four spaces"); err != nil {
		return nil, err
	}
	for !p.atKind(kDedent) {
		if p.atTarget() {
			return nil, p.wrong(p.tok(), "a parallel takes calls alone, and its value is the list of results; "+
				"write the names before it: a, b = parallel:")
		}
		do, err := p.invocation()
		if err != nil {
			return nil, err
		}
		if err := p.endInvocation(do); err != nil {
			return nil, err
		}
		s.Do = append(s.Do, do)
	}
	p.take()
	return s, nil
}
