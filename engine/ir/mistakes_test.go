package ir

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Every mistake of a program must be reported, in the order of the text, and none that only follows from another.
func TestAllMistakes(t *testing.T) {
	for source, want := range map[string]string{
		"fn main(input: [a], output: [x]):\n    x = 1 +\n    y := 2\n    if a = 1:\n        x = ??\n    else:\n        x = 3\n    for i in [1]:\n        foo bar\n        z = 1\n    x = @a(b)\n": "2:12 3:7 4:10 5:13",
		"fn main(input: [a], output: [x]):\n    x = 1 +\n    y := 2\n    if a = 1:\n        x = 2\n    else:\n        x = 3\n    for i in [1]:\n        foo bar\n        z = 1\n    x = @a(b)\n":  "2:12 3:7 4:10 9:13 11:12",
		"fn f(input: [], output: []\n    pass\n\nfn main(input: [], output: [x]):\n        x = 1\n":                                                                                               "1:5",
		"def f():\n    pass\n\nx = 1\nfn main(input: [], output: [x]):\n    x =\n":                                                                                                                "1:1 6:8",
		"fn main(input: [], output: [x]):\n    try:\n        x = 1 1\n    except:\n        y = 2 2\n    parallel:\n        1\n        a = @b()\n    c := 1\n":                                     "3:15 5:15 7:9 9:7",
		"fn main(input: [], output: [x]):\n    x = 1\n        y = 2\n    z = 3 3\n":                                                                                                               "3:9 4:11",
		"fn f(input: [a], output: [b]):\n    b = a\n\nfn main(input: [], output: [x]):\n    x = f()\n    y = f(c=1, a=2)\n":                                                                       "5:9 6:11",
	} {
		_, err := Parse("w.ir", []byte(source), Limits{})
		var places []string
		var all Errors
		var one *Error
		switch {
		case errors.As(err, &all):
			for _, e := range all {
				places = append(places, fmt.Sprintf("%d:%d", e.Pos.Line, e.Pos.Col))
			}
		case errors.As(err, &one):
			places = []string{fmt.Sprintf("%d:%d", one.Pos.Line, one.Pos.Col)}
		}
		if got := strings.Join(places, " "); got != want {
			t.Errorf("%s\nmistakes at %s, want %s:\n%v", source, got, want, err)
		}
	}
	many := "fn main(input: [], output: []):\n" + strings.Repeat("    x = 1 1\n", 2*mistakesMost)
	var all Errors
	if _, err := Parse("w.ir", []byte(many), Limits{}); !errors.As(err, &all) || len(all) != mistakesMost {
		t.Errorf("%d mistakes of a program that has more, want %d", len(all), mistakesMost)
	}
}
