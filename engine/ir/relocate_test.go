package ir_test

import (
	"fmt"
	"testing"

	"pulley/engine/ir"
)

// No position of a program of the whole language may stay.
func TestRelocateReachesEveryPlace(t *testing.T) {
	t.Parallel()
	const text = `fn g(input: [x], output: [y]):
    y = x

fn main(input: [xs], output: [r]):
    r = []
    for i, x in enumerate(xs):
        if x > 1:
            a, b = parallel:
                @f(x=x) [Network -> retry: 2] [timeout: 1s]
                g(x=x)
        elif x == 0:
            break
        else:
            continue
    while len(r) < 2:
        r = r + [1]
    try:
        sleep 1
        r = spread xs:x limit 2 -> @f(x=x)
    except Timeout as e:
        pass
    return r
`
	p, err := ir.Parse("p.ir", []byte(text), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	ir.Relocate(p, func(at ir.Pos) ir.Pos {
		if at.File != "p.ir" {
			t.Errorf("%v was moved twice", at)
		}
		moved++
		return ir.Pos{File: "flow.py", Line: at.Line + 100, Col: at.Col}
	})
	if moved < 40 {
		t.Errorf("only %d places were moved", moved)
	}
	again := map[string]bool{}
	ir.Relocate(p, func(at ir.Pos) ir.Pos {
		again[at.File] = true
		if at.Line < 101 {
			t.Errorf("%v was not moved", at)
		}
		return at
	})
	if fmt.Sprint(again) != "map[flow.py:true]" {
		t.Errorf("places are in %v", again)
	}
}
