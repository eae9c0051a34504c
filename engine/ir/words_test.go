package ir

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The reserved words are those of Starlark's parser, and its three constants.
func TestReservedAreStarlarks(t *testing.T) {
	var options syntax.FileOptions
	tokens := map[string]bool{}
	for tok := syntax.ILLEGAL; tok <= syntax.YIELD; tok++ {
		word := tok.String()
		if word == "" || nameLen(word) < len(word) {
			continue
		}
		if _, err := options.ParseExpr("x", word, 0); err != nil {
			tokens[word] = true
		}
	}
	for word := range tokens {
		if !reserved[word] {
			t.Errorf("%s cannot be read by Starlark but is not reserved", word)
		}
	}
	for word := range reserved {
		if !tokens[word] && starlark.Universe[word] == nil {
			t.Errorf("%s is reserved without need", word)
		}
	}
	for word := range operatorWords {
		if !reserved[word] {
			t.Errorf("%s stands in expressions but is not reserved", word)
		}
	}
	for word, advice := range foreign {
		if !reserved[word] || operatorWords[word] || advice == "" {
			t.Errorf("%s is refused with advice but is not reserved", word)
		}
	}
}

// Every method of strings and dicts must be known: it may be called, or is refused because it changes its value.
func TestMethodsAreStarlarks(t *testing.T) {
	known := map[string]bool{}
	for _, value := range []starlark.HasAttrs{starlark.String(""), starlark.NewDict(0)} {
		for _, name := range value.AttrNames() {
			known[name] = true
			if methods[name] == (changers[name] != "") {
				t.Errorf("%s must be either a method or one that changes its value", name)
			}
		}
	}
	for name := range methods {
		if !known[name] {
			t.Errorf("neither strings nor dicts have a method %s", name)
		}
	}
	for _, name := range starlark.NewList(nil).AttrNames() {
		if changers[name] == "" && !methods[name] { // index is a method of strings too
			t.Errorf("the method %s of lists is not refused with advice", name)
		}
	}
}

// Every reserved word must be refused wherever an expression may read it, and nowhere else.
func TestReservedNames(t *testing.T) {
	for word := range reserved {
		for _, source := range []string{
			"fn " + word + "(input: [], output: []):\n    pass\n",
			"fn main(input: [" + word + "], output: []):\n    pass\n",
			"fn main(input: [], output: [" + word + "]):\n    pass\n",
			inMain(word + " = 1"),
			inMain("x, " + word + " = a"),
			inMain("for " + word + " in a:\n        pass"),
			inMain("x = spread a:" + word + " -> @f()"),
			inMain("try:\n        pass\n    except A as " + word + ":\n        pass"),
			inMain("x = [1 for " + word + " in a]"),
			inMain("x = dict(" + word + "=1)"),
			inMain("x = a." + word + "()"),
		} {
			constant := starlark.Universe[word] != nil // Starlark's parser reads it as a name
			if p, err := Parse("w.ir", []byte(source), Limits{}); err == nil && !(constant && strings.Contains(source, "dict(")) {
				t.Errorf("accepted: %s", Print(p))
			}
		}
		for _, source := range []string{
			inMain("@" + word + "." + word + "(" + word + "=a) [A, " + word + " -> retry: 1]"),
			inMain("try:\n        pass\n    except A, B" + word + ":\n        pass"),
		} {
			if _, err := Parse("w.ir", []byte(source), Limits{}); err != nil {
				t.Errorf("%v", err)
			}
		}
	}
}
