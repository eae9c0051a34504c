package workload

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/plan/model"
	"pulley/scenarios"
	"pulley/scenarios/dist"
	"pulley/scenarios/wfformat"
)

// unfold runs an instance and notes its tasks.
type unfold struct {
	*model.Instance[*task]
	opts  Options
	w     *scenarios.Workload
	table scenarios.Table // answers instead of actions; nil: actions run

	tasks   []*task // in the order in which they became ready
	working queue   // by virtual time
	begun   int     // attempts so far
	now     float64 // ms

	because []*task                // the tasks whose completions led to the event that is being planned
	resumed map[graph.Run][]*task  // the same for runs that a plan resumes
	arrived map[graph.Run]*arrival // at barriers
	opened  map[graph.Run][]*task  // by the aggregate of a spread: what led to the spread
	soft    []string               // barriers that ignored arrivals
	limits  []string               // spreads with a limit
	wrong   error
}

// task is a node run of an action.
type task struct {
	run     graph.Run
	action  string
	args    []plan.Arg
	needs   []*task // shared with other tasks
	ms      float64
	bytes   int
	attempt int // from 1

	at    float64 // the virtual time of the attempt's end, in ms
	order int     // of the queue among equal times
	index int     // in tasks
}

// arrival is what has arrived at a barrier.
type arrival struct {
	needs []*task
	soft  bool // one of the soft group is there
}

func unfolding(w *scenarios.Workload, program *plan.Program, opts Options) (*unfold, error) {
	u := &unfold{
		w: w, opts: opts, resumed: map[graph.Run][]*task{}, arrived: map[graph.Run]*arrival{}, opened: map[graph.Run][]*task{},
	}
	u.Instance = model.New(program, model.Watch[*task]{
		Wrong: func(invariant, format string, args ...any) {
			u.wrong = errors.Join(u.wrong, fmt.Errorf("%s: "+format, append([]any{invariant}, args...)...))
		},
		Enqueued: u.enqueued,
		Cancelled: func(_ graph.Run, t *task, _ plan.Clear) {
			u.refuse("%s is cancelled while it works", u.name(t))
		},
	})
	var err error
	if w.Answers != nil {
		u.table, err = scenarios.NewTable(w.Answers)
	}
	return u, err
}

func (u *unfold) name(t *task) string { return u.Program.RunName(t.run) }

// refuse keeps the first reason.
func (u *unfold) refuse(format string, args ...any) {
	if u.wrong == nil {
		u.wrong = fmt.Errorf(format, args...)
	}
}

// run executes the instance to its end.
func (u *unfold) run(input json.RawMessage) error {
	p, err := u.Program.Start(input)
	if err != nil {
		return err
	}
	for {
		end, err := u.commit(p)
		switch {
		case err != nil:
			return err
		case end != nil:
			return u.ended(end)
		case len(u.working) == 0:
			return errors.New("an instance comes to nothing: no task is ready, and it has not ended")
		}
		if p, err = u.next(); err != nil {
			return err
		}
	}
}

func (u *unfold) ended(end *plan.End) error {
	switch {
	case end.Failure != nil:
		return fmt.Errorf("its instances fail with %s", end.Failure)
	case len(u.Runs) > 0:
		var names []string
		for run := range u.Runs {
			names = append(names, u.Program.RunName(run))
		}
		slices.Sort(names)
		return fmt.Errorf("an instance may end while a task is still at work, such as %s", names[0])
	}
	return nil
}

// commit applies a plan and what follows from it. The completions in because led to it.
func (u *unfold) commit(p plan.Plan) (*plan.End, error) {
	u.note(&p)
	end, err := u.Fixpoint(p, func(ev plan.Event) (plan.Plan, error) {
		u.because = u.reasons(ev.Run)
		p, err := u.Step(ev, 0.5)
		if u.Program.Needs(ev).Elements {
			u.Forget(ev.Run)
		}
		u.note(&p)
		return p, err
	})
	return end, errors.Join(u.wrong, err)
}

// note records for later events of a plan which completions led to them.
func (u *unfold) note(p *plan.Plan) {
	for _, run := range p.Resumes {
		u.resumed[run] = u.because
	}
	for _, o := range p.Opens {
		u.opened[o.Run] = u.because
	}
	for _, a := range p.Arrivals {
		at := u.arrived[a.Run]
		if at == nil {
			at = &arrival{}
			u.arrived[a.Run] = at
		}
		if a.Soft && at.soft {
			u.soft = append(u.soft, u.Program.RunName(a.Run))
			continue
		}
		at.soft = at.soft || a.Soft
		at.needs = append(at.needs, u.because...)
	}
}

// reasons returns the tasks whose completions led to a continuation: a resumed run, a full barrier, or an element of a spread
// that had to wait for its turn. That limit is not one of the graph: the element needs what the spread needed.
func (u *unfold) reasons(run graph.Run) []*task {
	if needs, is := u.resumed[run]; is {
		delete(u.resumed, run)
		return needs
	}
	if at := u.arrived[run]; at != nil { // it stays: more of a soft group may arrive
		slices.SortFunc(at.needs, func(a, b *task) int { return a.index - b.index })
		return slices.Compact(at.needs)
	}
	g := u.Program.Graph()
	for _, n := range g.Nodes {
		if n.Kind != graph.Spread || g.Out(n.ID)[0].To != run.Node {
			continue
		}
		if !slices.Contains(u.limits, n.Name) {
			u.limits = append(u.limits, n.Name)
		}
		return u.opened[graph.Run{Node: n.Aggregate, Path: run.Path.Cut(n.Depth)}]
	}
	u.refuse("nobody knows what made %s ready", u.Program.RunName(run))
	return nil
}

// enqueued makes a ready run a task.
func (u *unfold) enqueued(e *plan.Enqueue) *task {
	t := &task{run: e.Run, action: e.Action, args: e.Args, needs: u.because, attempt: 1, index: len(u.tasks)}
	node := u.Program.Graph().Nodes[e.Run.Node]
	switch {
	case e.Action == "":
		u.refuse("%s sleeps", u.name(t))
	case node.Timeout > 0:
		u.refuse("%s has a timeout", u.name(t))
	case len(u.tasks) == tasksMax:
		u.refuse("an instance has more than %d tasks", tasksMax)
	}
	if u.wrong == nil {
		u.tasks = append(u.tasks, t)
		t.ms = u.service(t)
		u.begin(t)
	}
	return t
}

// begin begins an attempt of a task at the present virtual time.
func (u *unfold) begin(t *task) {
	u.begun++
	t.at, t.order = u.now+t.ms, u.begun
	heap.Push(&u.working, t)
}

// service returns how long each attempt of a task takes, in ms: by its action's law, and by its arguments.
func (u *unfold) service(t *task) float64 {
	own := u.ownTime(t)
	law := u.w.Calls().Service(t.action)
	switch {
	case law == nil || u.table != nil:
		return own
	case u.opts.Mean:
		return own + rounded(law.Mean()/1e6)
	}
	return own + rounded(float64(law.Draw(dist.NewKey().Text("service").Text(u.name(t)).Rand(u.opts.Seed)))/1e6)
}

// rounded keeps whole microseconds.
func rounded(ms float64) float64 { return math.Round(ms*1000) / 1000 }

// next ends the attempt that ends first, and plans what follows.
func (u *unfold) next() (plan.Plan, error) {
	t := heap.Pop(&u.working).(*task)
	args, err := u.argsOf(t)
	if err != nil {
		return plan.Plan{}, err
	}
	u.now = max(u.now, t.at)
	ev := plan.Event{Run: t.run, Attempt: t.attempt}
	ev.Result, ev.Failure = u.execute(backend.Task{Action: t.action, Args: args, Attempt: t.attempt})
	p, err := u.Step(ev, 0.5)
	switch {
	case err != nil:
		return p, err
	case p.Retry != nil:
		t.attempt++
		u.begin(t)
		return plan.Plan{}, nil
	case ev.Failure != nil && p.End == nil:
		return p, fmt.Errorf("the failure %s of %s is caught", ev.Failure.Type, u.name(t))
	}
	if d, described := u.w.Calls().Described(t.action); described && d.Payload != nil {
		t.bytes = len(ev.Result)
	}
	delete(u.Runs, t.run)
	u.because = []*task{t}
	return p, nil
}

func (u *unfold) execute(t backend.Task) (json.RawMessage, *plan.Failure) {
	if u.table != nil {
		return u.table.Answer(t.Action, t.Args, t.Attempt)
	}
	return u.w.Calls().Instant().Execute(context.Background(), t)
}

// actionSleep is the built-in action that takes time.
const actionSleep = "sleep"

// ownTime is the time in ms that the arguments say: those of a task of a trace, and of the action that sleeps.
func (u *unfold) ownTime(t *task) float64 {
	if t.action != wfformat.ActionTask && t.action != actionSleep {
		return 0
	}
	args, err := u.argsOf(t)
	if err != nil {
		return 0 // the attempt will fail
	}
	if t.action == wfformat.ActionTask {
		if parsed, err := wfformat.ParseTask(args); err == nil {
			return rounded(parsed.Seconds * 1000)
		}
		return 0
	}
	var a struct{ MS float64 }
	if json.Unmarshal(args, &a) == nil && a.MS > 0 {
		return rounded(a.MS)
	}
	return 0
}

func (u *unfold) argsOf(t *task) (json.RawMessage, error) {
	args := make(map[string]json.RawMessage, len(t.args))
	for _, a := range t.args {
		args[a.Name] = a.Value
		if a.Ref == nil {
			continue
		}
		var err error
		if args[a.Name], err = plan.JoinAppended(u.Values[*a.Ref], u.Appended[*a.Ref]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(args)
}

// queue has the tasks at work, the first to end first.
type queue []*task

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, k int) bool {
	if q[i].at != q[k].at {
		return q[i].at < q[k].at
	}
	return q[i].order < q[k].order
}

func (q queue) Swap(i, k int) { q[i], q[k] = q[k], q[i] }

// Push adds a task.
func (q *queue) Push(t any) { *q = append(*q, t.(*task)) }

// Pop removes the last task.
func (q *queue) Pop() any {
	t := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return t
}
