package designtest

import "pulley/engine/backend/backendtest"

// Workflows with one trait each.
var (
	// Sequence has two actions in a row.
	Sequence = backendtest.Workflow{Name: "sequence", Input: `{"n": 4}`, Want: `9`, Source: `
fn main(input: [n], output: [y]):
    x = @double(value=n)
    y = @add(a=x, b=1)
`}
	// Joining has a barrier behind two actions.
	Joining = backendtest.Workflow{Name: "joining", Input: `{}`, Want: `6`, Source: `
fn main(input: [], output: [s]):
    a, b = parallel:
        @double(value=1)
        @double(value=2)
    s = @sum(values=[a, b])
`}
	// Alone ends with its only action.
	Alone = backendtest.Workflow{Name: "alone", Input: `{"n": 4}`, Want: `8`, Source: `
fn main(input: [n], output: [x]):
    x = @double(value=n)
`}
	// Fanned has as many concurrent actions as its input says.
	Fanned = backendtest.Workflow{Name: "fanned", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [r]):
    r = spread range(n):x -> @double(value=x)
`}
	// Failing ends with the failure of one of two actions.
	Failing = backendtest.Workflow{Name: "failing", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: [r]):
    a, b = parallel:
        @fail(type="Bad", message="no")
        @double(value=2)
    r = @add(a=a, b=b)
`}
	// FailsAlone ends with the failure of its only action.
	FailsAlone = backendtest.Workflow{Name: "fails_alone", Input: `{}`, Failure: "Bad", Source: `
fn main(input: [], output: [r]):
    r = @fail(type="Bad", message="no")
`}
	// Looping has one action in each round.
	Looping = backendtest.Workflow{Name: "looping", Input: `{"n": 3}`, Want: `[0,2,4]`, Source: `
fn main(input: [n], output: [all]):
    all = []
    for i in range(n):
        x = @double(value=i)
        all = all + [x]
`}
	// Collecting has three actions in each round, which append to a list.
	Collecting = backendtest.Workflow{Name: "collecting", Input: `{"n": 3}`, Want: `[1,3,5]`, Source: `
fn main(input: [n], output: [results]):
    results = []
    for i in range(n):
        a = @double(value=i)
        b = @add(a=a, b=1)
        r = @echo(value=b)
        results = results + [r]
`}
	// Caught catches the failure of one of two actions, which cancels the other.
	Caught = backendtest.Workflow{Name: "caught", Input: `{}`, Want: `"Bad"`, Source: `
fn main(input: [], output: [r]):
    try:
        a, b = parallel:
            @fail(type="Bad", message="no")
            @double(value=2)
        r = @add(a=a, b=b)
    except Bad as e:
        r = @echo(value=e["type"])
`}
	// CaughtTwice catches the first of two failures, which cancels two actions.
	CaughtTwice = backendtest.Workflow{Name: "caught twice", Input: `{}`, Want: `["Bad",2]`, Source: `
fn main(input: [], output: [r]):
    try:
        a, b, c = parallel:
            @fail(type="Bad", message="no")
            @fail(type="Bad", message="no")
            @double(value=2)
        r = [a, b, c]
    except Bad as e:
        n = @double(value=1)
        r = [e["type"], n]
`}
	referring = backendtest.Workflow{Name: "referring", Input: `{}`, Want: `["x",1]`, Source: `
fn main(input: [], output: [t, r]):
    try:
        t = "0123456789abcdef" * 80
        ys = spread range(3):i -> @fail(type="Bad", message=t)
    except Bad:
        t = "x"
        r = @echo(value=1)
`}
)
