package ir

import "slices"

func (p *parser) statement() (Stmt, error) {
	t := p.tok()
	switch {
	case t.kind == kIndent:
		return nil, p.indented()
	case p.atOp("[") && p.peek(1).kind == kName && p.isOp(p.peek(2), ":"):
		return nil, p.wrong(t, "a policy on a line of its own; write it on the line of its action")
	case t.kind != kName || p.atTarget():
		return p.assign()
	}
	switch word := p.text(t); {
	case word == "for":
		return p.forLoop()
	case word == "while":
		return p.whileLoop()
	case word == "if":
		return p.ifElse()
	case word == "try":
		return p.try()
	case word == "return":
		return p.line(p.returns())
	case word == "break":
		return p.line(p.breaks())
	case word == "continue":
		return p.line(p.continues())
	case word == "pass":
		return p.line(&Pass{Pos: p.take()}, nil)
	case word == wordSleep && !p.atCallOf(wordSleep):
		return p.line(p.sleep())
	case reserved[word] && !operatorWords[word], word == "else":
		return nil, p.misplaced(t)
	case word == wordFn && p.peek(1).kind == kName && p.isOp(p.peek(2), "("):
		return nil, p.wrong(t, "a function inside a block; begin it at the first column")
	}
	return p.assign()
}

func (p *parser) line(s Stmt, err error) (Stmt, error) {
	if err != nil {
		return nil, err
	}
	return s, p.endLine("the statement")
}

func (p *parser) misplaced(t token) error {
	switch word := p.text(t); word {
	case "elif", "else":
		return p.wrong(t, "%s without an if before it; write it as deep as its if", word)
	case "except":
		return p.wrong(t, "except without a try before it; write it as deep as its try")
	case "as":
		return p.wrong(t, "%s", nameFault(word))
	default:
		return p.wrong(t, "%s is not in the language; %s", word, foreign[word])
	}
}

func (p *parser) indented() error {
	switch before := p.toks[max(p.next-2, 0)]; {
	case p.isOp(p.peek(1), "["):
		return p.wrong(p.peek(1), "a policy or list on a line of its own; write a policy on the line of its action")
	case p.isWord(before, wordParallel):
		return p.wrong(before, "parallel without a colon; write parallel:")
	}
	return p.wrong(p.tok(), "indented, but no block begins here; write it as deep as the line before, "+
		"or put an expression that continues in brackets")
}

func (p *parser) endLine(what string) error {
	if p.atKind(kNewline) {
		p.take()
		return nil
	}
	t := p.tok()
	text := p.text(t)
	switch {
	case p.atOp("="):
		return p.wrong(t, "an assignment inside a statement; write == to compare, or assign on a line of its own")
	case p.atOp(":="):
		return p.wrong(t, "%q is not in the language; write =", text)
	case t.kind == kOp && isAssignment(text):
		return p.wrong(t, "%q is not in the language; write x = x %s y", text, text[:len(text)-1])
	}
	return p.wrong(t, "found %s after %s; end the line there", p.describe(t), what)
}

func (p *parser) loop(form string) ([]Stmt, error) {
	p.loops++
	body, err := p.block(form)
	p.loops--
	return body, err
}

func (p *parser) forLoop() (Stmt, error) {
	s := &For{Pos: p.take()}
	for {
		name, err := p.name("a name, as in " + formFor)
		if err != nil {
			return nil, err
		}
		s.Targets = append(s.Targets, name)
		if !p.atOp(",") {
			break
		}
		if len(s.Targets) == 2 {
			return nil, p.wrong(p.tok(), "a loop takes one name or two; take one and unpack it in the body: a, b, c = x")
		}
		p.take()
	}
	if err := p.expectWord("in", formFor); err != nil {
		return nil, err
	}
	var err error
	if s.Over, err = p.expr("the list to go through, as in " + formFor); err != nil {
		return nil, err
	}
	s.Body, err = p.loop(formFor)
	return s, err
}

func (p *parser) whileLoop() (Stmt, error) {
	s := &While{Pos: p.take()}
	var err error
	if s.Cond, err = p.expr("a condition, as in while n > 0:"); err != nil {
		return nil, err
	}
	s.Body, err = p.loop("while n > 0:")
	return s, err
}

func (p *parser) ifElse() (Stmt, error) {
	s := &If{Pos: p.posOf(p.tok())}
	for len(s.Arms) == 0 || p.atWord("elif") {
		arm := Arm{Pos: p.take()}
		var err error
		if arm.Cond, err = p.expr("a condition, as in if n > 0:"); err != nil {
			return nil, err
		}
		if arm.Body, err = p.block("if n > 0:"); err != nil {
			return nil, err
		}
		s.Arms = append(s.Arms, arm)
	}
	if !p.atWord("else") {
		return s, nil
	}
	p.take()
	if p.atWord("if") {
		return nil, p.wrong(p.tok(), "else if is not in the language; write elif")
	}
	var err error
	s.Else, err = p.block("else:")
	return s, err
}

func (p *parser) try() (Stmt, error) {
	s := &Try{Pos: p.take()}
	var err error
	if s.Body, err = p.block("try:"); err != nil {
		return nil, err
	}
	all := 0 // the line of the handler that catches every error
	for p.atWord("except") {
		if all > 0 {
			return nil, p.wrong(p.tok(), "this except is never reached, the one of line %d catches every error; "+
				"write it first or remove it", all)
		}
		h, err := p.handler()
		if err != nil {
			return nil, err
		}
		if catchesAll(h.Types) {
			all = h.Pos.Line
		}
		s.Handlers = append(s.Handlers, h)
	}
	if len(s.Handlers) == 0 {
		return nil, p.unexpected("except: as deep as its try, and a block")
	}
	return s, nil
}

func catchesAll(types []Name) bool {
	return len(types) == 0 || slices.ContainsFunc(types, func(n Name) bool { return n.Text == typeAny })
}

func (p *parser) handler() (Handler, error) {
	h := Handler{Pos: p.take()}
	if p.atOp("(") {
		return h, p.wrong(p.tok(), "types stand without brackets; write %s", formExcept)
	}
	for p.atKind(kName) && !p.atWord("as") || len(h.Types) > 0 {
		if p.atWord("as") {
			return h, p.unexpected("a type of error, as in " + formExcept)
		}
		name, err := p.anyName("a type of error, as in " + formExcept)
		if err != nil {
			return h, err
		}
		h.Types = append(h.Types, name)
		if !p.atOp(",") {
			break
		}
		p.take()
	}
	if p.atWord("as") {
		p.take()
		name, err := p.name("a name for the error, as in " + formExcept)
		if err != nil {
			return h, err
		}
		h.As = &name
	}
	var err error
	h.Body, err = p.block(formExcept)
	return h, err
}

func (p *parser) returns() (Stmt, error) {
	s := &Return{Pos: p.take()}
	if p.atKind(kNewline) {
		return s, nil
	}
	for {
		value, err := p.expr("an expression, as in return a, b")
		if err != nil {
			return nil, err
		}
		s.Values = append(s.Values, value)
		if !p.atOp(",") {
			return s, nil
		}
		p.take()
	}
}

func (p *parser) breaks() (Stmt, error) {
	s := &Break{Pos: p.posOf(p.tok())}
	return s, p.leaveLoop()
}

func (p *parser) continues() (Stmt, error) {
	s := &Continue{Pos: p.posOf(p.tok())}
	return s, p.leaveLoop()
}

func (p *parser) leaveLoop() error {
	if p.loops == 0 {
		return p.wrong(p.tok(), "%s outside a loop; remove it, or write return to leave the function", p.text(p.tok()))
	}
	p.take()
	return nil
}

func (p *parser) atTarget() bool { return p.isOp(p.peek(1), "=") || p.isOp(p.peek(1), ",") }

// atCallOf distinguishes the call of a function of that name from a statement that begins with the word: no expression begins
// with () or (name=.
func (p *parser) atCallOf(word string) bool {
	if !p.atWord(word) || !p.functions[word] || !p.isOp(p.peek(1), "(") {
		return false
	}
	return p.isOp(p.peek(2), ")") || p.peek(2).kind == kName && p.isOp(p.peek(3), "=")
}

func (p *parser) sleep() (Stmt, error) {
	s := &Sleep{Pos: p.take()}
	var err error
	s.Seconds, err = p.expr("a number of seconds, as in sleep 5")
	return s, err
}

func (p *parser) assign() (Stmt, error) {
	s := &Assign{Pos: p.posOf(p.tok())}
	var err error
	if p.atTarget() {
		if s.Targets, err = p.targets(); err != nil {
			return nil, err
		}
	}
	if p.isOp(p.toks[p.extent()], "=") {
		return nil, p.notAssignable(s)
	}
	s.Value, err = p.rhs()
	return s, err
}

func (p *parser) notAssignable(s *Assign) error {
	if len(s.Targets) > 0 {
		return p.wrong(p.tok(), "a second = in one statement; write two assignments")
	}
	return p.wrong(p.tok(), "only names can be assigned to, as in a, b = xs; a value cannot be changed in place: "+
		"build a new one")
}

func (p *parser) targets() ([]Name, error) {
	var names []Name
	for {
		name, err := p.name("a name to assign to, as in a, b = xs")
		if err != nil {
			return nil, err
		}
		names = append(names, name)
		if !p.atOp(",") {
			return names, p.expect("=", "a, b = xs")
		}
		p.take()
	}
}
