package backendtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/internal/depth"
)

var languageCases = []testCase{
	{name: "append/read whole", run: appendReadWhole},
	{name: "append/replaced", run: appendReplaced},
	{name: "append/by many processes", run: appendReopened},
	{name: "clear/a loop holds no more for more rounds", run: clearRounds},
	{name: "clear/loops in a spread", run: clearNested},
	{name: "limit/in flight", run: limitFlight},
	{name: "limit/over a function", run: limitFunction},
	{name: "limit/many hands", shards: 2, run: limitHands},
	{name: "sleep/not before its time", run: sleepDue},
	{name: "sleep/survives", run: sleepSurvives},
	{name: "sleep/of nothing", run: sleepNothing},
}

// ready returns what a call made ready: the tasks that it handed out, and those that a claim finds.
func (r *rig) ready(out backend.Committed) []backend.Task {
	r.Helper()
	return append(slices.Clone(out.Tasks), r.claim(0, grant(100)).Tasks...)
}

func (r *rig) only(out backend.Committed, action string) backend.Task {
	r.Helper()
	tasks := r.ready(out)
	if len(tasks) != 1 || tasks[0].Action != action {
		r.Fatalf("ready are %+v; want one run of %q", tasks, action)
	}
	return tasks[0]
}

// play runs tasks and their successors, one completion a call, until the instance has ended. It calls each after every
// completion.
func (r *rig) play(id uuid.UUID, tasks []backend.Task, each func()) {
	r.Helper()
	cfg := DriveConfig{Actions: Actions()}
	for r.instance(id).Status == backend.Running {
		if len(tasks) == 0 {
			tasks = r.eventually(grant(8))
		}
		out := r.applied(grant(8), cfg.run(tasks[0]))
		tasks = append(tasks[1:], out.Tasks...)
		each()
	}
}

// collect is a program that appends to a list in a loop, and passes it by value or, once it is large, by reference.
const collect = `
fn main(input: [n, text], output: [r]):
    r = []
    for i in range(n):
        x = @echo(value=text + str(i))
        r = r + [x]
    r = @echo(value=r)
`

func appendReadWhole(r *rig) {
	for _, load := range []string{"x", strings.Repeat("long", 100)} {
		id, tasks := r.launch(collect, fmt.Sprintf(`{"n": 12, "text": "%s"}`, load), grant(1))
		var want []string
		for i := range 12 {
			x := fmt.Sprintf(`"%s%d"`, load, i)
			want = append(want, x)
			if len(tasks) != 1 || compact(tasks[0].Args) != `{"value":`+x+`}` {
				r.Fatalf("round %d: ready are %+v; want echo of %s", i, tasks, x)
			}
			out := r.applied(grant(1), done(tasks[0], x))
			tasks = r.ready(out)
		}
		whole := "[" + strings.Join(want, ",") + "]"
		for range 2 { // the second time after a lost lease
			if len(tasks) != 1 || compact(tasks[0].Args) != `{"value":`+whole+`}` {
				r.Fatalf("%+v came; want echo of %s", tasks, short([]byte(whole)))
			}
			if kept := r.renew(brief(0), tasks[0].Lease); !kept[0] {
				r.Fatal("the lease is not held")
			}
			tasks = r.eventually(grant(1))
		}
		r.applied(grant(0), done(tasks[0], whole))
		r.completed(id, whole)
		r.clean()
	}
}

func appendReplaced(r *rig) {
	w := Workflow{Name: "replaced", Input: `{"n": 9}`, Want: `[["again",4,5,["again",4,5],7,8],["again",4,5]]`, Source: `
fn main(input: [n], output: [r, kept]):
    r = []
    kept = []
    for i in range(n):
        x = @echo(value=i)
        if i == 3:
            r = ["again"]
            continue
        if i == 6:
            kept = r
            r = r + [kept]
            continue
        r = r + [x]
    return r, kept
`}
	r.drive(w, w.Program(r), 4, DriveConfig{Workers: 2, Seed: 2, Advance: r.Advance})
}

func appendReopened(r *rig) {
	id, tasks := r.launch(collect, `{"n": 5, "text": ""}`, grant(1))
	backends := []backend.Backend{r.reopen(), r.reopen(), r.b}
	for i := range 5 {
		out := r.completeOn(backends[i%3], grant(1), done(tasks[0], fmt.Sprint(i)))
		r.answers(out, backend.Applied)
		if tasks = r.ready(out); len(tasks) != 1 {
			r.Fatalf("round %d: %d node runs are ready; want one", i, len(tasks))
		}
	}
	if got := compact(tasks[0].Args); got != `{"value":[0,1,2,3,4]}` {
		r.Fatalf("arguments %s; want all that was appended", got)
	}
	r.applied(grant(0), done(tasks[0], `"end"`))
	r.completed(id, `"end"`)
	r.clean()
}

// most runs an instance alone and returns the maximal number of its stored rows, without appended values.
func (r *rig) most(src, input string) int {
	r.Helper()
	most := 0
	id, tasks := r.launch(src, input, grant(8))
	r.play(id, tasks, func() {
		held, err := r.StoredCounts(r.ctx)
		if err != nil {
			r.Fatalf("Held: %v", err)
		}
		now := 0
		for kind, n := range held {
			if kind != Appended {
				now += n
			}
		}
		most = max(most, now)
	})
	r.clean()
	return most
}

// roundKinds are loops whose rounds leave rows of every kind.
var roundKinds = map[string]string{
	"for": `
fn main(input: [n], output: [r]):
    r = []
    for i in range(n):
        xs = spread range(3):x -> @double(value=x)
        a, b = parallel:
            @add(a=i, b=0)
            @flaky(times=1) [retry: 1]
        try:
            c = @fail(type="Bad", message="no")
        except Bad as e:
            c = @echo(value=e["type"])
        r = r + [[xs, a, b, c]]
`,
	"while": `
fn step(input: [i], output: [x]):
    for k in range(3):
        x = @add(a=i, b=k)
        if k == 1:
            return x

fn main(input: [n], output: [i]):
    i = 0
    while True:
        if i >= n:
            break
        x = step(i=i)
        ys = spread range(2):y limit 1 -> step(i=y)
        sleep 0.001
        i = i + 1
        if x == 5:
            continue
`,
}

// clearRounds checks that a loop of many rounds never has more rows than one of a few.
func clearRounds(r *rig) {
	if r.StoredCounts == nil {
		r.Log("the store does not say what it holds")
		return
	}
	rounds := depth.Of(15, 60)
	for name, src := range roundKinds {
		few, many := r.most(src, `{"n": 5}`), r.most(src, fmt.Sprintf(`{"n": %d}`, rounds))
		if many > few {
			r.Errorf("%s: a loop of %d rounds held %d rows, and one of 5 held %d", name, rounds, many, few)
		}
	}
}

func clearNested(r *rig) {
	w := Workflow{Name: "nested", Input: `{"n": 6}`, Want: "[" + join(6, func(i int) int { return 15*i + 45 }) + "]", Source: `
fn grow(input: [x], output: [total]):
    total = 0
    for i in range(3):
        for j in range(5):
            total = @add(a=total, b=x)
        ys = spread range(i * 5 + 1):y -> @echo(value=1)
        more = @sum(values=ys)
        total = @add(a=total, b=more)
    total = @add(a=total, b=27)

fn main(input: [n], output: [r]):
    r = spread range(n):x -> grow(x=x)
`}
	r.drive(w, w.Program(r), depth.Of(1, 4), DriveConfig{Workers: 3, Seed: 21, Advance: r.Advance})
	r.drive(w, w.Program(r), depth.Of(1, 4), DriveConfig{Workers: 2, Seed: 22, Batch: 1, Advance: r.Advance})
}

// limitFlight completes a limited spread from its last task to its first: exactly as many elements as the limit must be under
// way, and the list must be in order.
func limitFlight(r *rig) {
	const n, limit = 11, 3
	id, tasks := r.launch(`
fn main(input: [n], output: [r]):
    r = spread range(n):i limit 3 -> @double(value=i) [retry: 1]
`, fmt.Sprintf(`{"n": %d}`, n), grant(100))
	failedOnce := false
	for left := n; left > 0; {
		tasks = append(tasks, r.claim(0, grant(100)).Tasks...)
		if len(tasks) != min(limit, left) {
			r.Fatalf("%d elements are under way and %d to come; the limit is %d", len(tasks), left-len(tasks), limit)
		}
		batch := []backend.Completion{}
		ends := min(1+left%2, len(tasks)) // one or two at once
		for _, t := range tasks[len(tasks)-ends:] {
			batch = append(batch, done(t, fmt.Sprint(t.Lease.Key.Run.Path.Last())))
		}
		if left == 6 && !failedOnce { // a retried element keeps its place
			failedOnce = true
			batch[0].Result, batch[0].Failure = nil, failed(tasks[0], "Bad").Failure
			left++
		}
		out := r.complete(grant(100), batch...)
		for i, o := range out.Outcomes {
			if o.Answer != backend.Applied {
				r.Fatalf("member %d is %q (%v)", i, o.Answer, o.Err)
			}
		}
		left -= ends
		tasks = append(tasks[:len(tasks)-ends:len(tasks)-ends], out.Tasks...)
	}
	r.completed(id, "["+join(n, func(i int) int { return i })+"]")
	r.clean()
}

func limitFunction(r *rig) {
	const n, limit = 9, 2
	id, tasks := r.launch(`
fn work(input: [x], output: [y]):
    ys = []
    for i in range(x % 3):
        y = @add(a=x, b=i)
        ys = ys + [y]
    y = parallel:
        @sum(values=ys)
        @double(value=x)

fn main(input: [n], output: [r]):
    r = spread range(n):x limit 2 -> work(x=x)
`, fmt.Sprintf(`{"n": %d}`, n), grant(100))
	cfg := DriveConfig{Actions: Actions()}
	started := map[graph.Path]bool{}
	for r.instance(id).Status == backend.Running {
		tasks = append(tasks, r.claim(0, grant(100)).Tasks...)
		under := map[graph.Path]bool{}
		for _, t := range tasks {
			element := t.Lease.Key.Run.Path.Cut(1)
			under[element], started[element] = true, true
		}
		if len(under) > limit || len(under) == 0 {
			r.Fatalf("%d elements are under way; the limit is %d", len(under), limit)
		}
		last := tasks[len(tasks)-1]
		out := r.applied(grant(100), cfg.run(last))
		tasks = append(tasks[:len(tasks)-1], out.Tasks...)
	}
	if len(started) != n {
		r.Errorf("%d elements were started; want %d", len(started), n)
	}
	r.completed(id, `[[0,0],[1,2],[5,4],[0,6],[4,8],[11,10],[0,12],[7,14],[17,16]]`)
	r.clean()
}

func limitHands(r *rig) {
	w := Workflow{Name: "limits", Input: `{"n": 7}`, Want: `[[],[0],[0,2],[0,2,4],[0,2,4,6],[0,2,4,6,8],[0,2,4,6,8,10]]`, Source: `
fn row(input: [k], output: [ys]):
    ys = spread range(k):i limit 2 -> @double(value=i)

fn main(input: [n], output: [r]):
    r = spread range(n):k limit 3 -> row(k=k)
`}
	r.drive(w, w.Program(r), depth.Of(5, 24), DriveConfig{
		Workers: 4, Seed: 13, Max: 4, Peers: []backend.Backend{r.reopen()}, Advance: r.Advance,
	})
}

const sleepingSource = `
fn main(input: [seconds], output: [r]):
    a = @echo(value=1)
    sleep seconds
    r = @double(value=a)
`

func sleepDue(r *rig) {
	// Long enough for a slow machine to answer before it ends.
	_, tasks := r.launch(sleepingSource, `{"seconds": 3600}`, grant(1))
	out := r.applied(grant(5), done(tasks[0], `1`))
	if len(out.Tasks) > 0 {
		r.Fatalf("%+v came before its time", out.Tasks)
	}
	if out.NextDue.IsZero() {
		r.Error("a sleep waits for its time, and NextDue is zero")
	}
	id, tasks := r.launch(sleepingSource, `{"seconds": 0.1}`, grant(1))
	began := time.Now()
	r.applied(grant(0), done(tasks[0], `1`))
	if r.Advance != nil {
		r.Advance(99 * time.Millisecond)
		if early := r.claim(0, grant(5)); len(early.Tasks) > 0 || early.More || early.NextDue.IsZero() {
			r.Fatalf("a claim before its time gave %+v", early)
		}
	}
	over := r.eventually(grant(5))
	if waited := time.Since(began); r.Advance == nil && waited < 50*time.Millisecond {
		r.Errorf("the sleep of 100 ms was over after %v", waited)
	}
	if len(over) != 1 || over[0].Action != "" || over[0].Attempt != 1 {
		r.Fatalf("%+v came; want the sleep, which has no action", over)
	}
	last := r.only(r.complete(grant(5), done(over[0], `null`)), "double")
	r.answers(r.complete(grant(5), done(over[0], `null`)), backend.Stale)
	r.applied(grant(5), done(last, `2`))
	r.completed(id, `2`)
	r.clean()
}

func sleepSurvives(r *rig) {
	id, tasks := r.launch(sleepingSource, `{"seconds": 0.05}`, grant(1))
	r.applied(grant(0), done(tasks[0], `1`))
	r.b.Close()
	r.b = r.reopen()
	over := r.eventually(brief(1))[0]
	r.b.Close()
	r.b = r.reopen()
	again := r.eventually(grant(1))[0]
	if again.Lease.Key != over.Lease.Key || again.Lease.Token <= over.Lease.Token || again.Action != "" {
		r.Fatalf("%+v came; want the sleep again, with a new token", again)
	}
	r.answers(r.complete(grant(0), done(over, `null`)), backend.Stale)
	last := r.only(r.complete(grant(5), done(again, `null`)), "double")
	r.applied(grant(5), done(last, `2`))
	r.completed(id, `2`)
}

func sleepNothing(r *rig) {
	id, tasks := r.launch(sleepingSource, `{"seconds": 0}`, grant(1))
	over := r.only(r.complete(grant(5), done(tasks[0], `1`)), "")
	last := r.only(r.complete(grant(5), done(over, `null`)), "double")
	r.applied(grant(5), done(last, `2`))
	r.completed(id, `2`)
}
