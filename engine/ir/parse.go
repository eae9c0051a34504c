package ir

import "fmt"

// Parse parses a program. The error is an *Error for one mistake, and Errors for several, in the order of the text. file is
// only a name for positions. Parse also checks names, calls and limits, so that a user of its Program need not: functions,
// inputs and arguments are unique, every Call names a function and gives exactly its inputs, no function reaches itself, break
// and continue are in loops, and every Expr is canonical.
func Parse(file string, src []byte, lim Limits) (*Program, error) {
	lim = lim.WithDefaults()
	if bound := min(lim.SourceBytes, maxSource); len(src) > bound {
		return nil, LimitError(Pos{file, 1, 1}, "source bytes", len(src), bound)
	}
	text, err := vet(file, src)
	if err != nil {
		return nil, err
	}
	p := &parser{lexer: lex(file, text, lim.Nesting), source: []byte(text)}
	p.functions = p.declared()
	prog := p.program()
	if err := p.mistakes.err(); err != nil {
		return nil, err
	}
	if err := check(prog, lim); err != nil {
		return nil, err
	}
	return prog, nil
}

// parser is a recursive descent over the tokens. The lexer bounds the depth of blocks, and so the parser's. A method that
// parses something moves next behind it.
type parser struct {
	*lexer
	source    []byte
	next      int
	functions map[string]bool // declared by the program
	loops     int
	mistakes  Errors
	depths    []int // blocks around each token; nil until there is a mistake
}

const (
	formFn     = "fn NAME(input: [a, b], output: [c]):"
	formFor    = "for x in xs:"
	formExcept = "except Timeout, Declined as e:"
	formSpread = "spread xs:x -> @name(x=x)"
)

// declared finds the names of all functions: a call may come before its function.
func (p *parser) declared() map[string]bool {
	names := map[string]bool{}
	for i := 0; i+2 < len(p.toks); i++ {
		fn, name, paren := p.toks[i], p.toks[i+1], p.toks[i+2]
		if fn.col == 1 && p.isWord(fn, wordFn) && name.kind == kName && p.isOp(paren, "(") {
			names[p.text(name)] = true
		}
	}
	return names
}

func (p *parser) tok() token { return p.toks[p.next] }

// peek returns the last token beyond the end.
func (p *parser) peek(n int) token { return p.toks[min(p.next+n, len(p.toks)-1)] }

func (p *parser) take() Pos {
	pos := p.posOf(p.tok())
	if p.next < len(p.toks)-1 {
		p.next++
	}
	return pos
}

func (p *parser) isWord(t token, word string) bool { return t.kind == kName && p.text(t) == word }

func (p *parser) isOp(t token, op string) bool { return t.kind == kOp && p.text(t) == op }

func (p *parser) atWord(word string) bool { return p.isWord(p.tok(), word) }

func (p *parser) atOp(op string) bool { return p.isOp(p.tok(), op) }

func (p *parser) atKind(k kind) bool { return p.tok().kind == k }

// wrong refuses a token. If the lexer refused it, the lexer's reason is reported. A token on a later line of a bracket that is
// never closed has that reason, too: it is the likelier mistake.
func (p *parser) wrong(t token, format string, args ...any) error {
	if t.kind == kBad {
		return p.bad
	}
	if n := len(p.open); n > 0 && p.open[n-1].line < t.line && p.bad.Pos == p.posOf(p.open[n-1]) {
		return p.bad
	}
	return Errorf(p.posOf(t), format, args...)
}

func (p *parser) unexpected(want string) error {
	return p.wrong(p.tok(), "found %s; write %s", p.describe(p.tok()), want)
}

// The form shows the whole construct.
func (p *parser) expect(op, form string) error {
	if !p.atOp(op) {
		return p.unexpected(fmt.Sprintf("%q, as in %s", op, form))
	}
	p.take()
	return nil
}

func (p *parser) expectWord(word, form string) error {
	if !p.atWord(word) {
		return p.unexpected(word + ", as in " + form)
	}
	p.take()
	return nil
}

// anyName passes a name that no expression reads.
func (p *parser) anyName(what string) (Name, error) {
	if !p.atKind(kName) {
		return Name{}, p.unexpected(what)
	}
	text := p.text(p.tok())
	return Name{Pos: p.take(), Text: text}, nil
}

// name passes a name that an expression may read.
func (p *parser) name(what string) (Name, error) {
	t := p.tok()
	name, err := p.anyName(what)
	if err != nil {
		return Name{}, err
	}
	if fault := nameFault(name.Text); fault != "" {
		return Name{}, p.wrong(t, "%s", fault)
	}
	return name, nil
}

func (p *parser) program() *Program {
	prog := &Program{File: p.file}
	lines := map[string]int{}
	for !p.atKind(kEnd) {
		begin := p.next
		fn, err := p.function(lines)
		if err == nil {
			prog.Functions = append(prog.Functions, fn)
			continue
		}
		if !p.recoverFrom(err, begin, 0) {
			return nil
		}
		for !p.atWord(wordFn) && !p.atKind(kEnd) && p.passLines(p.next, 0) { // lines outside of functions are one mistake
		}
	}
	if len(prog.Functions)+len(p.mistakes) == 0 {
		p.mistakes = Errors{Errorf(Pos{p.file, 1, 1}, "no function; write fn main(input: [], output: []): and its statements")}
	}
	return prog
}

func (p *parser) function(lines map[string]int) (*Function, error) {
	if !p.atWord(wordFn) {
		return nil, p.outside()
	}
	fn := &Function{Pos: p.take()}
	var err error
	if fn.Name, err = p.name("the name of the function, as in " + formFn); err != nil {
		return nil, err
	}
	if fault := functionFault(fn.Name.Text, lines); fault != "" {
		return nil, Errorf(fn.Name.Pos, "%s", fault)
	}
	lines[fn.Name.Text] = fn.Pos.Line
	if fn.Inputs, fn.Outputs, err = p.signature(); err != nil {
		return nil, err
	}
	fn.Body, err = p.block(formFn)
	return fn, err
}

func (p *parser) outside() error {
	t := p.tok()
	if t.kind == kIndent {
		return p.wrong(t, "an indented line outside a function; begin it at the first column, as in %s", formFn)
	}
	if p.isWord(t, "def") || p.isWord(t, "async") || p.isWord(t, "import") || p.isWord(t, "from") {
		return p.wrong(t, "%s is not in the language; %s", p.text(t), foreign[p.text(t)])
	}
	return p.wrong(t, "%s stands outside a function; put it in one, as in %s", p.describe(t), formFn)
}

func functionFault(name string, lines map[string]int) string {
	if _, ok := builtins[name]; ok {
		return fmt.Sprintf("%s is a function of expressions; give this one another name", name)
	}
	if line, ok := lines[name]; ok {
		return fmt.Sprintf("fn %s is written in line %d already; give this one another name", name, line)
	}
	return ""
}

func (p *parser) signature() (inputs, outputs []Name, err error) {
	if err = p.expect("(", formFn); err != nil {
		return nil, nil, err
	}
	if inputs, err = p.list(wordInput); err != nil {
		return nil, nil, err
	}
	if err = p.expect(",", formFn); err != nil {
		return nil, nil, err
	}
	if outputs, err = p.list(wordOutput); err != nil {
		return nil, nil, err
	}
	return inputs, outputs, p.expect(")", formFn)
}

func (p *parser) list(word string) ([]Name, error) {
	if err := p.expectWord(word, formFn); err != nil {
		return nil, err
	}
	if err := p.expect(":", formFn); err != nil {
		return nil, err
	}
	if err := p.expect("[", formFn); err != nil {
		return nil, err
	}
	var names []Name
	seen := map[string]bool{}
	for !p.atOp("]") || len(names) > 0 {
		name, err := p.name("a name, as in " + formFn)
		if err != nil {
			return nil, err
		}
		if seen[name.Text] {
			return nil, Errorf(name.Pos, "the %s %s is written twice; remove one", word, name.Text)
		}
		seen[name.Text] = true
		names = append(names, name)
		if !p.atOp(",") {
			break
		}
		p.take()
	}
	return names, p.expect("]", formFn)
}

// block is a colon and the indented statements below. The form shows its owner.
func (p *parser) block(form string) ([]Stmt, error) {
	if err := p.openBlock(form, "its lines by four spaces, or write pass"); err != nil {
		return nil, err
	}
	var body []Stmt
	first := p.next
	for !p.atKind(kDedent) {
		begin := p.next
		s, err := p.statement()
		if err == nil {
			body = append(body, s)
		} else if !p.recoverFrom(err, begin, first) {
			return nil, errOver
		}
	}
	p.take()
	return body, nil
}

// openBlock passes a colon, the end of its line and the indent. indent names what is missing there.
func (p *parser) openBlock(form, indent string) error {
	if p.atOp("=") {
		return p.wrong(p.tok(), "an assignment inside a statement; write == to compare, as in if a == b:")
	}
	if err := p.expect(":", form); err != nil {
		return err
	}
	if !p.atKind(kNewline) {
		return p.wrong(p.tok(), "found %s after the colon; begin the block on the next line, indented by four spaces",
			p.describe(p.tok()))
	}
	p.take()
	if !p.atKind(kIndent) {
		return p.wrong(p.tok(), "the block is empty; indent %s", indent)
	}
	p.take()
	return nil
}
