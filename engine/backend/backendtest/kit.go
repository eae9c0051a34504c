package backendtest

import (
	"strings"
	"time"

	"pulley/engine/backend"
)

// Granted returns a grant of at most n node runs, longer than any test.
func Granted(n int) backend.Grant {
	return backend.Grant{Owner: "test", Max: n, Lease: 10 * time.Minute}
}

// Ran completes a task with the result of its action, one of Actions.
func Ran(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt}
	c.Result, c.Failure = Actions()[t.Action](t.Args, t.Attempt)
	return c
}

// Answers returns the answers of a call as words.
func Answers(out backend.Committed) string {
	words := make([]string, len(out.Outcomes))
	for i, o := range out.Outcomes {
		words[i] = string(o.Answer)
	}
	return strings.Join(words, " ")
}

// Races is for several processes that complete its branches concurrently: in each spread some branches fail, one failure is
// caught, and the others are cancelled.
var Races = Workflow{Name: "races", Input: `{}`, Want: `[["Bad"],["Bad"],["Bad"]]`, Source: `
fn branch(input: [i], output: [b]):
    a = @double(value=i)
    for k in range(2):
        a = @double(value=a)
    if i % 2 == 1:
        @fail(type="Bad", message="no")
    b = @double(value=a)

fn main(input: [], output: [all]):
    all = []
    for round in range(3):
        try:
            r = spread range(6):i -> branch(i=i)
        except Bad as e:
            r = [e["type"]]
        x = @echo(value=r)
        all = all + [x]
`}
