package ir

import (
	"errors"
	"slices"
	"strings"

	"go.starlark.net/syntax"
)

// expr parses an expression: it finds its end, refuses words and operators that the language lacks, lets Starlark's parser read
// the rest, and keeps the canonical print. want is for the message if there is no expression.
func (p *parser) expr(want string) (*Expr, error) {
	first, end := p.next, p.extent()
	if end == first {
		return nil, p.unexpected(want)
	}
	if last := p.toks[end]; last.kind == kBad {
		return nil, p.bad
	}
	if err := p.vetExpr(first, end); err != nil {
		return nil, err
	}
	from, to := p.toks[first], p.toks[end-1]
	portion := syntax.FilePortion{
		Content:   p.source[from.start:to.end],
		FirstLine: from.line,
		FirstCol:  from.col,
	}
	tree, err := new(syntax.FileOptions).ParseExpr(p.file, portion, 0)
	if err != nil {
		return nil, p.explain(err, first, end)
	}
	text, err := canonical(p.file, tree)
	if err != nil {
		return nil, err
	}
	p.next = end
	return &Expr{Pos: p.posOf(from), Text: text}, nil
}

func (p *parser) extent() int {
	depth := 0
	for i := p.next; ; i++ {
		t := p.toks[i]
		if t.kind > kOp {
			return i
		}
		if t.kind != kOp {
			continue
		}
		switch text := p.text(t); {
		case closers[text] != "":
			depth++
		case depth > 0 && isCloser(text):
			depth--
		case depth == 0 && endsExpr(text):
			return i
		}
	}
}

func isCloser(op string) bool { return op == ")" || op == "]" || op == "}" }

func endsExpr(op string) bool {
	return isCloser(op) || op == "," || op == ":" || op == "->" || isAssignment(op)
}

func isAssignment(op string) bool {
	return op == "=" || strings.HasSuffix(op, "=") && !slices.Contains([]string{"==", "!=", "<=", ">="}, op)
}

// vetExpr refuses tokens that no expression has, and too deep nesting before anything recurses on it.
func (p *parser) vetExpr(first, end int) error {
	var depth nesting
	for i := first; i < end; i++ {
		t := p.toks[i]
		var before token
		if i > first {
			before = p.toks[i-1]
		} else {
			before = token{kind: kNewline}
		}
		var err error
		switch t.kind {
		case kName:
			err = p.vetWord(i, before)
		case kOp:
			err = p.vetOp(t)
		}
		if err != nil {
			return err
		}
		if n := depth.pass(p.text(t), t.kind, p.isOperand(before)); n > p.nesting {
			return LimitError(p.posOf(t), "nesting of an expression", n, p.nesting)
		}
	}
	return nil
}

// What follows the end of an operand is no prefix.
func (p *parser) isOperand(t token) bool {
	switch t.kind {
	case kName:
		word := p.text(t)
		return !operatorWords[word] || word == "None" || word == "True" || word == "False"
	case kNumber, kString:
		return true
	}
	return t.kind == kOp && isCloser(p.text(t))
}

func (p *parser) vetWord(i int, before token) error {
	t, next := p.toks[i], p.peek(i-p.next+1)
	word := p.text(t)
	switch {
	case operatorWords[word]:
		return nil
	case foreign[word] != "" && !p.isOp(next, "=") && !p.isOp(before, "."):
		return p.wrong(t, "%s is not in the language; %s", word, foreign[word])
	case reserved[word]:
		return p.wrong(t, "%s", nameFault(word))
	case p.functions[word] && p.isOp(next, "(") && !p.isOp(before, "."):
		return p.wrong(t, "fn %s must be called on a line of its own; write r = %s(...) and continue with r", word, word)
	case word == wordSpread && next.kind == kName && !operatorWords[p.text(next)]:
		return p.wrong(t, "a spread stands alone right of an equals sign; write rs = spread ... and continue with rs")
	}
	return nil
}

func (p *parser) vetOp(t token) error {
	switch op := p.text(t); op {
	case "@":
		return p.wrong(t, "an action must be run on a line of its own; write r = @name(...) and continue with r")
	case "|", "&", "^", "~", "<<", ">>":
		return p.wrong(t, "%q is not in the language; write or, and, not for conditions", op)
	case "**":
		return p.wrong(t, "%q is not in the language; multiply, or write arguments one by one", op)
	case "->":
		return p.wrong(t, "%q inside an expression; it belongs to a spread, as in %s", op, formSpread)
	default:
		if op != "=" && isAssignment(op) {
			return p.wrong(t, "%q inside an expression; assign on a line of its own", op)
		}
	}
	return nil
}

// nesting counts what a parser has open: brackets, prefix operators and the else of conditionals. All of them recurse, and
// Starlark's parser allows a thousand levels, about 13 for each of these.
type nesting struct {
	outer []nesting // outside the open brackets
	base  int       // when the innermost bracket was opened
	elses int
	run   int
}

// pass counts a token and returns the depth with it.
func (n *nesting) pass(text string, k kind, afterOperand bool) int {
	isWord := k == kName
	switch {
	case k == kOp && closers[text] != "":
		outside := nesting{base: n.base, elses: n.elses}
		*n = nesting{outer: append(n.outer, outside), base: n.base + n.elses + n.run + 1}
	case k == kOp && isCloser(text):
		last := len(n.outer) - 1
		n.base, n.elses, n.run, n.outer = n.outer[last].base, n.outer[last].elses, 0, n.outer[:last]
	case (k == kOp && (text == "-" || text == "+") || isWord && text == "not") && !afterOperand:
		n.run++
	case isWord && text == "else":
		n.elses, n.run = n.elses+1, 0
	case k == kOp && (text == "," || text == ":") || isWord && text == "for":
		n.elses, n.run = 0, 0
	default:
		n.run = 0
	}
	return n.base + n.elses + n.run
}

// explain rewords an error of Starlark's parser for authors of workflows.
func (p *parser) explain(err error, first, end int) error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return p.wrong(p.toks[first], "the expression cannot be read: %v", err)
	}
	// The parser returns the start of a token for some errors and its end for others.
	behind, _ := slices.BinarySearchFunc(p.toks[first:end], e.Pos, func(t token, pos syntax.Position) int {
		if t.line != pos.Line {
			return int(t.line - pos.Line)
		}
		return int(t.col - pos.Col)
	})
	at := p.toks[first+behind]
	last := p.toks[first+max(behind-1, 0)]
	if strings.Contains(e.Msg, "got end of file") {
		last = p.toks[end]
	}
	switch {
	case strings.HasSuffix(e.Msg, "want primary expression"):
		return p.wrong(at, "found %s where a value must stand; write one, or remove what asks for it", p.describe(at))
	case strings.Contains(e.Msg, "does not associate"):
		return p.wrong(last, "comparisons cannot be chained; write a < b and b < c")
	case strings.HasPrefix(e.Msg, "conditional expression"):
		return p.wrong(at, "a conditional without else; write a if condition else b")
	case strings.HasPrefix(e.Msg, "unparenthesized tuple"):
		return p.wrong(at, "several values where one must stand; write a list: [a, b]")
	case e.Msg == "not an identifier" && p.isOp(last, "."): // and nothing after it
		return p.wrong(at, "found %s after a dot; write the name of a method", p.describe(at))
	case e.Msg == "not an identifier":
		return p.wrong(last, "found %s after a dot; write the name of a method", p.describe(last))
	case e.Msg == "excessive nesting":
		return p.wrong(last, "the expression is nested deeper than Starlark can read; assign parts of it first")
	case strings.HasPrefix(e.Msg, "keyword argument must"), strings.HasPrefix(e.Msg, "got ") && p.isOp(last, "="):
		return p.wrong(last, "an assignment inside an expression; write == to compare, or name=value for an argument")
	case strings.Contains(e.Msg, " after expression"):
		return p.explainRest(last, p.toks[first:end])
	case strings.HasPrefix(e.Msg, "got "):
		return p.explainWanted(last, e.Msg)
	}
	return p.explainLiteral(p.toks[first:min(first+behind+1, end)], e.Msg)
}

func (p *parser) explainRest(t token, toks []token) error {
	before := toks[max(slices.Index(toks, t)-1, 0)]
	switch {
	case p.isWord(t, "for"):
		return p.wrong(t, "a comprehension without its brackets; write [f(x) for x in xs]")
	case t.kind == kString && before.kind == kString:
		return p.wrong(t, "two strings side by side; join them with +")
	case t.kind == kName && before.kind == kNumber && before.end == t.start:
		return p.wrong(t, "found %s right after a number; write the digits alone, without a unit or underscore",
			p.describe(t))
	}
	return p.wrong(t, "found %s after the expression; write an operator or a comma before it, or begin a new line",
		p.describe(t))
}

func (p *parser) explainWanted(t token, msg string) error {
	_, wanted, _ := strings.Cut(msg, "want ")
	switch {
	case wanted == "':'":
		return p.wrong(t, "found %s; write key: value in a dict, or a list where a set is meant", p.describe(t))
	case strings.HasSuffix(wanted, "for, or if"):
		return p.wrong(t, "found %s in a comprehension; close its bracket before it, or put what it goes through in "+
			"brackets", p.describe(t))
	case p.isWord(t, "for"):
		return p.wrong(t, "a comprehension without its brackets; write [f(x) for x in xs]")
	case t.kind != kOp && wanted != "in":
		return p.wrong(t, "found %s; write an operator or a comma before it", p.describe(t))
	}
	return p.wrong(t, "found %s; write %s before it, or remove it", p.describe(t), strings.ReplaceAll(wanted, "'", `"`))
}

func (p *parser) explainLiteral(toks []token, msg string) error {
	for _, t := range slices.Backward(toks) {
		switch t.kind {
		case kString:
			return p.wrong(t, `%s in %s; write \\ for a backslash`, msg, p.describe(t))
		case kNumber:
			t.end += int32(nameLen(p.src[t.end:])) // for the message: what was meant as one number
			return p.wrong(t, "%s is not a number that can be held; write one such as 12, 0x1f, 0o17, 1.5 or 2e9",
				p.describe(t))
		}
	}
	return p.wrong(toks[0], "the expression cannot be read: %s", msg)
}
