package ir

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Errors are several mistakes of a program, in the order of the text.
type Errors []*Error

// Error returns a line for each.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns them one by one.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}

// err returns nil without mistakes, and a single mistake by itself.
func (e Errors) err() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return e
}

const mistakesMost = 100

var errOver = errors.New("no statement is parsed any more")

// recoverFrom records the mistake of a statement that begins at the token begin, in a block that begins at first, and passes
// the rest of the statement. It reports whether another statement can follow.
func (p *parser) recoverFrom(err error, begin, first int) bool {
	var mistake *Error
	if err == errOver || !errors.As(err, &mistake) {
		return false
	}
	p.mistakes = append(p.mistakes, mistake)
	if mistake == p.bad || len(p.mistakes) == mistakesMost || !p.passLines(begin, first) {
		return false
	}
	switch p.text(p.toks[begin]) {
	case "if", "elif", "else", "try", "except", "finally", "for", "while": // its other parts are not parsed
		for p.atWord("elif") || p.atWord("else") || p.atWord("except") || p.atWord("finally") {
			if !p.passLines(p.next, first) {
				return false
			}
		}
	}
	return true
}

// passLines passes the lines of a statement, with its blocks. A token that the lexer refused ends everything.
func (p *parser) passLines(begin, first int) bool {
	if p.depths == nil {
		p.measure()
	}
	depth := p.depths[first]
	for i := max(begin+1, p.next); i < len(p.toks); i++ {
		switch t, before := p.toks[i], p.toks[i-1].kind; {
		case t.kind == kBad:
			if p.bad.Pos.Line != p.mistakes[len(p.mistakes)-1].Pos.Line { // otherwise it may follow from the previous mistake
				p.mistakes = append(p.mistakes, p.bad)
			}
			return false
		case t.kind == kEnd, t.kind != kIndent && p.depths[i] <= depth && (before == kNewline || before == kDedent):
			p.next = i
			return true
		}
	}
	return false
}

func (p *parser) measure() {
	p.depths = make([]int, len(p.toks))
	depth := 0
	for i, t := range p.toks {
		p.depths[i] = depth
		switch t.kind {
		case kIndent:
			depth++
		case kDedent:
			depth--
		}
	}
}
