package ir

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind uint8

const (
	kName kind = iota
	kNumber
	kString
	kOp
	kNewline
	kIndent
	kDedent
	kEnd // of the file
	kBad // refused by the lexer; always the last token
)

// token is the bytes of the source from start to end, at line and col. Indents, dedents and the end are empty.
type token struct {
	kind       kind
	start, end int32
	line, col  int32
}

const indentWidth = 4

// maxDigits bounds the digits of a number: reading takes more than linear time.
const maxDigits = 4096

// The language lacks some, which are refused by name.
var ops = set(
	"**=", "//=", "<<=", ">>=",
	"->", "==", "!=", "<=", ">=", "//", "**", "<<", ">>", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"(", ")", "[", "]", "{", "}", ",", ":", ".", "+", "-", "*", "/", "%", "<", ">", "=", "@", "|", "&", "^", "~",
)

const maxOp = 3

// The values are what to write instead.
var foreignRunes = map[rune]string{
	'\t': "a tab; indent with four spaces a level, and use spaces elsewhere",
	'\\': "a line cannot be continued with a backslash; put the expression in brackets",
	';':  "one statement a line; begin a new line instead of writing a semicolon",
	'!':  "a lone !; write not for a negation, != for unequal",
}

// lexer cuts a source into tokens. What it refuses becomes the last token: the parser reports an earlier mistake first.
type lexer struct {
	file    string
	src     string
	at      int
	line    int
	col     int
	level   int     // indentation of the current line
	open    []token // unclosed brackets, outermost first
	nesting int
	toks    []token
	bad     *Error // why the last token is kBad
}

func lex(file, src string, nesting int) *lexer {
	l := &lexer{file: file, src: src, line: 1, col: 1, nesting: nesting}
	for l.bad == nil && l.at < len(l.src) {
		if !l.skipBlankLine() {
			l.indent()
			l.cutLine()
		}
	}
	if n := len(l.open); n > 0 && l.bad == nil {
		l.refuse(l.posOf(l.open[n-1]), "%q is never closed; write its closing bracket", l.text(l.open[n-1]))
	}
	if l.bad != nil {
		return l
	}
	l.dedent(0)
	l.emit(kEnd, 0)
	return l
}

// vet refuses what is not text, and returns the source without a byte order mark.
func vet(file string, src []byte) (string, error) {
	text := strings.TrimPrefix(string(src), "\ufeff")
	line, start := 1, 0
	for i, r := range text {
		fault := ""
		switch {
		case r == '\n':
			line, start = line+1, i+1
		case r == 0:
			fault = "a NUL character; remove it"
		case r == '\r' && !strings.HasPrefix(text[i:], "\r\n"):
			fault = "a carriage return without a line feed; end lines with LF or CRLF"
		case r == '\ufeff':
			fault = "a byte order mark; remove it, it may only begin the file"
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			fault = "not valid UTF-8; save the file as UTF-8"
		}
		if fault != "" {
			return "", Errorf(Pos{file, line, utf8.RuneCountInString(text[start:i]) + 1}, "%s", fault)
		}
	}
	return text, nil
}

func (l *lexer) pos() Pos { return Pos{l.file, l.line, l.col} }

func (l *lexer) posOf(t token) Pos { return Pos{l.file, int(t.line), int(t.col)} }

func (l *lexer) text(t token) string { return l.src[t.start:t.end] }

func (l *lexer) rest() string { return l.src[l.at:] }

func (l *lexer) skip(n int) {
	l.col += utf8.RuneCountInString(l.src[l.at : l.at+n])
	l.at += n
}

func (l *lexer) emit(k kind, n int) {
	l.toks = append(l.toks, token{k, int32(l.at), int32(l.at + n), int32(l.line), int32(l.col)})
	l.skip(n)
}

func (l *lexer) refuse(pos Pos, format string, args ...any) {
	l.fail(Errorf(pos, format, args...))
}

func (l *lexer) fail(err *Error) {
	l.bad = err
	l.toks = append(l.toks, token{kBad, int32(l.at), int32(l.at), int32(err.Pos.Line), int32(err.Pos.Col)})
}

// lineEnd returns the length of the line end here; zero: none.
func (l *lexer) lineEnd() int {
	switch {
	case strings.HasPrefix(l.rest(), "\n"):
		return 1
	case strings.HasPrefix(l.rest(), "\r\n"):
		return 2
	}
	return 0
}

func (l *lexer) skipLineEnd() {
	if n := l.lineEnd(); n > 0 {
		l.at += n
		l.line, l.col = l.line+1, 1
	}
}

func (l *lexer) skipBlanks() {
	rest := l.rest()
	l.skip(len(rest) - len(strings.TrimLeft(rest, " ")))
	if strings.HasPrefix(l.rest(), "#") {
		n := strings.IndexAny(l.rest(), "\r\n")
		if n < 0 {
			n = len(l.rest())
		}
		l.skip(n)
	}
}

func (l *lexer) skipBlankLine() bool {
	at, col := l.at, l.col
	l.skipBlanks()
	if l.at < len(l.src) && l.lineEnd() == 0 {
		l.at, l.col = at, col
		return false
	}
	l.skipLineEnd()
	return true
}

func (l *lexer) indent() {
	rest := l.rest()
	spaces := len(rest) - len(strings.TrimLeft(rest, " "))
	l.skip(spaces)
	level := spaces / indentWidth
	switch {
	case strings.HasPrefix(l.rest(), "\t"): // refused with the rest of the line
	case spaces%indentWidth != 0:
		l.refuse(l.pos(), "indented by %d spaces; a level is four spaces", spaces)
	case level > l.level+1:
		l.refuse(l.pos(), "indented by %d levels at once; a level is four spaces", level-l.level)
	case level > l.nesting:
		l.fail(LimitError(l.pos(), "nesting of blocks", level, l.nesting))
	case level > l.level:
		l.level = level
		l.emit(kIndent, 0)
	default:
		l.dedent(level)
	}
}

func (l *lexer) dedent(level int) {
	for ; l.level > level; l.level-- {
		l.emit(kDedent, 0)
	}
}

// Inside brackets a line end is none.
func (l *lexer) cutLine() {
	for l.bad == nil {
		l.skipBlanks()
		switch {
		case l.at == len(l.src) && len(l.open) > 0:
			return
		case l.at == len(l.src):
			l.emit(kNewline, 0)
			return
		case l.lineEnd() == 0:
			l.cut()
		case len(l.open) > 0:
			l.skipLineEnd()
		default:
			l.emit(kNewline, 0)
			l.skipLineEnd()
			return
		}
	}
}

func (l *lexer) cut() {
	r, _ := utf8.DecodeRuneInString(l.rest())
	switch {
	case isLetter(r):
		l.cutName()
	case isDigit(byte(min(r, unicode.MaxASCII))) || r == '.' && len(l.rest()) > 1 && isDigit(l.rest()[1]):
		l.cutNumber()
	case r == '"' || r == '\'':
		l.cutString(byte(r))
	default:
		l.cutOp(r)
	}
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func nameLen(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return !isLetter(r) && (r > unicode.MaxASCII || !isDigit(byte(r)))
	})
	if n < 0 {
		return len(s)
	}
	return n
}

func (l *lexer) cutName() {
	rest := l.rest()
	n := nameLen(rest)
	if n < len(rest) && (rest[n] == '"' || rest[n] == '\'') && !reserved[rest[:n]] {
		l.refuse(l.pos(), "a string cannot begin with %s; write an ordinary string in quotes", rest[:n])
		return
	}
	l.emit(kName, n)
}

// cutNumber cuts an int or a float. Starlark's scanner checks its form; a unit (200ms) is a name of its own.
func (l *lexer) cutNumber() {
	rest := l.rest()
	n := numberLen(rest)
	if n > maxDigits {
		l.fail(LimitError(l.pos(), "digits of a number", n, maxDigits))
		return
	}
	l.emit(kNumber, n)
}

func numberLen(s string) int {
	span := func(from int, ok func(byte) bool) int {
		for from < len(s) && ok(s[from]) {
			from++
		}
		return from
	}
	if len(s) > 2 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 && isHex(s[2]) {
		return span(2, isHex)
	}
	n := span(0, isDigit)
	if n < len(s) && s[n] == '.' {
		n = span(n+1, isDigit)
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		exp := n + 1
		if exp < len(s) && (s[exp] == '+' || s[exp] == '-') {
			exp++
		}
		if exp < len(s) && isDigit(s[exp]) {
			n = span(exp, isDigit)
		}
	}
	return n
}

func isHex(b byte) bool {
	return isDigit(b) || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F'
}

// cutString leaves the check of escapes to Starlark's scanner.
func (l *lexer) cutString(quote byte) {
	rest := l.rest()
	if len(rest) > 2 && rest[1] == quote && rest[2] == quote {
		l.refuse(l.pos(), "a string cannot be in triple quotes; write one pair of quotes and \\n for a line end")
		return
	}
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case quote:
			l.emit(kString, i+1)
			return
		case '\\':
			i++
			if i < len(rest) && rest[i] != '\n' && rest[i] != '\r' {
				continue
			}
		case '\n', '\r':
		default:
			continue
		}
		break
	}
	l.refuse(l.pos(), "the string does not end on its line; close it with %c, and write \\n for a line end", quote)
}

func (l *lexer) cutOp(r rune) {
	rest := l.rest()
	for n := min(maxOp, len(rest)); n > 0; n-- {
		if op := rest[:n]; ops[op] {
			if l.bracket(op) {
				l.emit(kOp, n)
			}
			return
		}
	}
	if advice, ok := foreignRunes[r]; ok {
		l.refuse(l.pos(), "%s", advice)
		return
	}
	l.refuse(l.pos(), "the character %q begins nothing; remove it, or put it in a string", r)
}

// bracket tracks the open brackets, and reports whether op is allowed here.
func (l *lexer) bracket(op string) bool {
	here := token{kOp, int32(l.at), int32(l.at + len(op)), int32(l.line), int32(l.col)}
	switch op {
	case "(", "[", "{":
		l.open = append(l.open, here)
		// One more than an expression may have, for the call around it.
		if n := len(l.open); n > l.nesting+1 {
			l.fail(LimitError(l.pos(), "nesting of an expression", n, l.nesting))
			return false
		}
	case ")", "]", "}":
		n := len(l.open)
		if n == 0 {
			l.refuse(l.pos(), "%q closes nothing; remove it", op)
			return false
		}
		if opener := l.open[n-1]; closers[l.text(opener)] != op {
			l.refuse(l.pos(), "%q cannot close the %q of line %d; write %q", op, l.text(opener), opener.line,
				closers[l.text(opener)])
			return false
		}
		l.open = l.open[:n-1]
	}
	return true
}

var closers = map[string]string{"(": ")", "[": "]", "{": "}"}

func (l *lexer) describe(t token) string {
	switch t.kind {
	case kNewline:
		return "the end of the line"
	case kIndent:
		return "an indented line"
	case kDedent:
		return "the end of the block"
	case kEnd:
		return "the end of the file"
	}
	text := l.text(t)
	if r := []rune(text[:min(len(text), 4*maxShown)]); len(r) > maxShown {
		text = string(r[:maxShown]) + "…"
	}
	if t.kind == kOp {
		return fmt.Sprintf("%q", text)
	}
	return text
}

const maxShown = 40

const maxSource = math.MaxInt32
