package backendtest

var catching = []Workflow{
	{Name: "except", Input: `{}`, Want: `["Bad","no","fail"]`, Source: `
fn main(input: [], output: [r]):
    try:
        r = @fail(type="Bad", message="no")
    except Other:
        r = "other"
    except Worse, Bad as e:
        r = @echo(value=[e["type"], e["message"], e["action"]])
    except:
        r = "any"
`},
	{Name: "no error", Input: `{}`, Want: `2`, Runs: map[string]int{"noop": 0}, Source: `
fn main(input: [], output: [r]):
    try:
        r = @double(value=1)
    except:
        r = @noop()
`},
	{Name: "error nobody catches", Input: `{}`, Failure: "Bad", At: "4:13", Source: `
fn main(input: [], output: [r]):
    try:
        r = @fail(type="Bad", message="no")
    except Other:
        r = 1
`},
	{Name: "error in a handler", Input: `{}`, Want: `["Worse",4]`, Source: `
fn main(input: [], output: [r]):
    n = 1
    try:
        try:
            n = @double(value=n)
            @fail(type="Bad", message="first")
            n = @noop()
        except Bad:
            n = @double(value=n)
            @fail(type="Worse", message="second")
    except Worse as e:
        r = [e["type"], n]
`},
	{Name: "expressions are not caught", Input: `{}`, Failure: "ExpressionError", Source: `
fn main(input: [], output: [r]):
    r = @echo(value=0)
    try:
        r = 1 // r
    except:
        r = "caught"
`},
	{Name: "retries, then except", Input: `{}`, Want: `["Flaky",3]`, Source: `
fn main(input: [], output: [r]):
    try:
        a = @flaky(times=2) [retry: 2, backoff: 1ms]
        r = @flaky(times=3) [retry: 2, backoff: 1ms]
    except Flaky as e:
        r = [e["type"], a]
`},
	{Name: "siblings cancelled", Input: `{}`, Want: `["Bad",6]`, Source: `
fn slow(input: [x], output: [y]):
    for i in range(5):
        x = @add(a=x, b=i)
    sleep 1000
    y = x

fn main(input: [], output: [r]):
    r = 3
    try:
        r = parallel:
            slow(x=1)
            @fail(type="Bad", message="no")
            slow(x=2)
    except Bad as e:
        r = @double(value=r)
        return [e["type"], r]
`},
	{Name: "elements cancelled", Input: `{"n": 20}`, Want: `["Bad",[0,1,2]]`, Source: `
fn one(input: [i, n], output: [y]):
    if i == n // 2:
        @fail(type="Bad", message="no")
    y = spread range(3):k -> @add(a=i, b=k)
    sleep 1000

fn main(input: [n], output: [r]):
    try:
        r = spread range(n):i -> one(i=i, n=n)
    except Bad as e:
        r = spread range(3):k -> @echo(value=k)
        return [e["type"], r]
`},
	{Name: "limited elements cancelled", Input: `{}`, Want: `"Bad"`, Source: `
fn one(input: [i], output: [y]):
    if i == 4:
        @fail(type="Bad", message="no")
    y = @double(value=i)

fn main(input: [], output: [r]):
    try:
        r = spread range(1000):i limit 2 -> one(i=i)
    except Bad as e:
        r = @echo(value=e["type"])
`},
	{Name: "try in a loop in a spread", Input: `{"n": 5}`, Want: `[[0,"Odd",4],[2,"Odd",6],[4,"Odd",8],[6,"Odd",10],[8,"Odd",12]]`, Source: `
fn run(input: [x], output: [ys]):
    ys = []
    for i in range(3):
        try:
            if i % 2 == 1:
                @fail(type="Odd", message=str(i))
            y = @double(value=x + i)
        except Odd as e:
            y = @echo(value=e["type"])
        ys = ys + [y]

fn main(input: [n], output: [r]):
    r = spread range(n):x -> run(x=x)
`},
	{Name: "loop in a try in a loop", Input: `{}`, Want: `[[0,1,"Stop 2"],[1,2,"Stop 3"],[2,"Stop 3"]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for i in range(3):
        row = []
        try:
            for j in range(10):
                x = @add(a=i, b=j)
                row = row + [x]
                if len(row) + i // 2 == 2:
                    @fail(type="Stop", message=str(i + j + 1))
        except Stop as e:
            row = row + ["Stop " + e["message"]]
            row = @echo(value=row)
        r = r + [row]
`},
	{Name: "return out of a try in a loop", Input: `{}`, Want: `["ok 4","failed 0"]`, Source: `
fn find(input: [want], output: [r]):
    r = "none"
    for i in range(100):
        try:
            x = @double(value=i)
            if x == want:
                return "ok " + str(x)
            if want < 0:
                @fail(type="Bad", message=str(i))
        except Bad as e:
            return "failed " + e["message"]

fn main(input: [], output: [a, b]):
    a = find(want=4)
    b = find(want=-1)
`},
	{Name: "break and continue out of a try", Input: `{}`, Want: `[0,2,"Bad",6]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for i in range(10):
        try:
            x = @double(value=i)
            if i == 2:
                @fail(type="Bad", message="no")
            if i == 4:
                break
            r = r + [x]
        except Bad as e:
            r = r + [e["type"]]
            continue
        @noop()
`},
	{Name: "error in a nested spread", Input: `{}`, Want: `[[[0,2],[2,4]],"Deep",[[4,6],[6,8]]]`, Source: `
fn leaf(input: [a, b], output: [y]):
    if a == 1 and b == 1:
        @fail(type="Deep", message="no")
    y = spread range(2):c -> @double(value=a + b + c)

fn branch(input: [a], output: [ys]):
    try:
        ys = spread range(2):b -> leaf(a=a, b=b)
    except Deep as e:
        ys = @echo(value=e["type"])

fn main(input: [], output: [r]):
    r = spread range(3):a -> branch(a=a)
`},
	{Name: "timeout caught", Input: `{}`, Want: `["Timeout",1]`, Source: `
fn main(input: [], output: [r]):
    try:
        @fail(type="Timeout", message="late") [retry: 1, backoff: 1ms] [timeout: 1h]
    except Timeout as e:
        n = @echo(value=1)
        r = [e["type"], n]
`},
}

var gathering = []Workflow{
	{Name: "accumulator", Input: `{"n": 30}`, Want: "[" + join(30, func(i int) int { return 2 * i }) + "]", Source: `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        x = @double(value=i)
        r = r + [x]
`},
	{Name: "accumulator that is read", Input: `{}`, Want: `[[0,1,2,3],6,[0,0,1,3]]`, Source: `
fn main(input: [], output: [r, s, sums]):
    r = []
    sums = []
    for i in range(4):
        s = @sum(values=r)
        sums = sums + [s]
        r = r + [i]
    s = @sum(values=r)
`},
	{Name: "accumulators side by side", Input: `{}`, Want: `[[0,2,4],[1,3],["start",0,1,2,3,4]]`, Source: `
fn main(input: [], output: [even, odd, all]):
    even = []
    odd = []
    all = ["start"]
    for i in range(5):
        x = @echo(value=i)
        if x % 2 == 0:
            even = even + [x]
        else:
            odd = odd + [x]
        all = all + [x]
`},
	{Name: "accumulator in a spread", Input: `{"n": 4}`, Want: `[[0,0,0],[1,2,3],[2,4,6],[3,6,9]]`, Source: `
fn table(input: [x], output: [r]):
    r = []
    for i in range(3):
        y = @echo(value=x * (i + 1))
        r = r + [y]

fn main(input: [n], output: [r]):
    r = spread range(n):x -> table(x=x)
`},
	{Name: "accumulator of large values", Input: `{"text": "` + filler(500) + `"}`, Want: `[12,6000,true]`, Source: `
fn main(input: [text], output: [n, size, same]):
    r = []
    for i in range(12):
        x = @echo(value=text)
        r = r + [x]
    back = @echo(value=r)
    n = @flaky(times=1, load_=r) [retry: 1]
    return len(back), len("".join(back)), back == r
`},
	{Name: "accumulator begun anew", Input: `{}`, Want: `[[0,1],[2,3],[4,5]]`, Source: `
fn main(input: [], output: [all]):
    all = []
    part = []
    for i in range(6):
        x = @echo(value=i)
        part = part + [x]
        if len(part) == 2:
            all = all + [part]
            part = []
`},
	{Name: "nested loops with accumulators", Input: `{}`, Want: `[[[0,0],[0,1]],[[1,0],[1,1]],[[2,0],[2,1]]]`, Source: `
fn main(input: [], output: [all]):
    all = []
    for i in range(3):
        row = []
        for j in range(2):
            x = @echo(value=[i, j])
            row = row + [x]
        all = all + [row]
`},
	{Name: "loop over a long list", Input: `{"n": 70}`, Want: `[70,2415]`, Source: `
fn main(input: [n], output: [count, total]):
    xs = @items(count=n)
    count = 0
    total = 0
    for x in xs:
        total = @add(a=total, b=x)
        count = count + 1
        xs = []
`},
	{Name: "loop over keys and pairs", Input: `{"d": {"b": 2, "a": 1}}`, Want: `[["b",4],["a",2],[0,"b"],[1,"a"]]`, Source: `
fn main(input: [d], output: [r]):
    r = []
    for k in d:
        x = @double(value=d[k])
        r = r + [[k, x]]
    for i, k in enumerate(d):
        k = @echo(value=k)
        r = r + [[i, k]]
`},
	{Name: "endless loop left", Input: `{}`, Want: `[6,64]`, Source: `
fn main(input: [], output: [n, x]):
    n = 0
    x = 1
    while True:
        x = @double(value=x)
        n = n + 1
        while n % 2 == 1:
            n = n + 1
            x = @double(value=x)
        if n > 5:
            break
`},
	{Name: "spread over a function", Input: `{"n": 6}`, Want: `[[0,0],[2,4],[4,8],[6,12],[8,16],[10,20]]`, Source: `
fn work(input: [x], output: [a, b]):
    a = @double(value=x)
    b = @double(value=a)

fn main(input: [n], output: [r]):
    r = spread range(n):x -> work(x=x)
`},
	{Name: "nested spreads", Input: `{}`, Want: `[[],[0],[0,1],[0,1,2]]`, Source: `
fn row(input: [k], output: [ys]):
    ys = spread range(k):i -> @echo(value=i)

fn main(input: [], output: [r]):
    r = spread range(4):k -> row(k=k)
`},
	{Name: "three spreads deep", Input: `{}`, Want: `[[[0,1],[1,2]],[[1,2],[2,3]]]`, Source: `
fn inner(input: [a, b], output: [z]):
    z = spread range(2):c -> @sum(values=[a, b, c])

fn middle(input: [a], output: [y]):
    y = spread range(2):b -> inner(a=a, b=b)

fn main(input: [], output: [x]):
    x = spread range(2):a -> middle(a=a)
`},
	{Name: "loop in a spread in a loop", Input: `{}`, Want: `[[0],[0,2],[0,3,6]]`, Source: `
fn climb(input: [x, times], output: [y]):
    y = 0
    for i in range(times):
        y = @add(a=y, b=x)

fn main(input: [], output: [r]):
    r = []
    for n in range(1, 4):
        ys = spread range(n):x -> climb(x=x, times=n)
        r = r + [ys]
`},
	{Name: "spread with a limit", Input: `{"n": 25}`, Want: "[" + join(25, func(i int) int { return 2 * i }) + "]", Source: `
fn main(input: [n], output: [r]):
    r = spread range(n):x limit 4 -> @double(value=x)
`},
	{Name: "limit wider than the list", Input: `{}`, Want: `[[0,2],[],[6]]`, Source: `
fn main(input: [], output: [a, b, c]):
    a = spread range(2):x limit 9 -> @double(value=x)
    b = spread []:x limit 9 -> @double(value=x)
    c = spread [3]:x limit 1 -> @double(value=x)
`},
	{Name: "limit over elements without an action", Input: `{"n": 40}`, Want: "[" + join(40, func(i int) int {
		if i%3 == 0 {
			return 2 * i
		}
		return -i
	}) + "]", Source: `
fn some(input: [i], output: [x]):
    x = -i
    if i % 3 == 0:
        x = @double(value=i)

fn main(input: [n], output: [r]):
    r = spread range(n):i limit 2 -> some(i=i)
`},
	{Name: "limits in a loop", Input: `{}`, Want: `[[0],[0,2],[0,2,4],[0,2,4,6]]`, Source: `
fn main(input: [], output: [r]):
    r = []
    for n in range(1, 5):
        xs = spread range(n):x limit 2 -> @double(value=x)
        r = r + [xs]
`},
	{Name: "parallel of calls", Input: `{}`, Want: `[10,[0,2,4],"x"]`, Source: `
fn total(input: [n], output: [s]):
    s = 0
    for i in range(n):
        s = @add(a=s, b=i)

fn doubled(input: [n], output: [xs]):
    xs = spread range(n):x -> @double(value=x)

fn main(input: [], output: [a, b, c]):
    a, b, c = parallel:
        total(n=5)
        doubled(n=3)
        @echo(value="x")
`},
	{Name: "parallel in parallel", Input: `{}`, Want: `[[2,[4,6]],8]`, Source: `
fn pair(input: [a, b], output: [r]):
    r = parallel:
        @double(value=a)
        @double(value=b)

fn both(input: [], output: [r]):
    r = parallel:
        @double(value=1)
        pair(a=2, b=3)

fn main(input: [], output: [x, y]):
    x, y = parallel:
        both()
        @double(value=4)
`},
	{Name: "large value to elements", Input: `{"n": 6}`, Want: `[[0,40000],[1,40000],[2,40000],[3,40000],[4,40000],[5,40000]]`, Source: `
fn use(input: [big, i], output: [r]):
    copy = @echo(value=big)
    copy = @echo(value=copy)
    return [i, len(copy)]

fn main(input: [n], output: [r]):
    big = @echo(value="0123456789" * 4000)
    r = spread range(n):i limit 3 -> use(big=big, i=i)
`},
}

var sleeping = []Workflow{
	{Name: "sleep", Input: `{}`, Want: `[1,2]`, Source: `
fn main(input: [], output: [a, b]):
    a = @echo(value=1)
    sleep 0.005
    b = @double(value=a)
`},
	{Name: "sleep alone", Input: `{"n": 0.001}`, Want: `"awake"`, Source: `
fn main(input: [n], output: [r]):
    sleep n
    r = "awake"
    sleep 0
`},
	{Name: "sleeps in a loop in a spread", Input: `{}`, Want: `[[0,1],[1,2],[2,3]]`, Source: `
fn nap(input: [x], output: [r]):
    r = []
    for i in range(2):
        sleep 0.001 * (3 - x)
        y = @add(a=x, b=i)
        r = r + [y]

fn main(input: [], output: [r]):
    r = spread range(3):x -> nap(x=x)
`},
	{Name: "sleep for no number", Input: `{}`, Failure: "ExpressionError", Source: `
fn main(input: [], output: []):
    x = @echo(value="long")
    sleep x
`},
	{Name: "sleep in a try", Input: `{}`, Want: `["Bad","late"]`, Source: `
fn main(input: [], output: [r]):
    try:
        sleep 0.001
        @fail(type="Bad", message="late")
    except Bad as e:
        sleep 0.001
        r = [e["type"], e["message"]]
`},
}

func filler(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = 'a' + byte(i%26)
	}
	return string(out)
}
