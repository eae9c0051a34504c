package check

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
)

// closeTimeout bounds the end of a run's processes and of its store.
const closeTimeout = time.Minute

// run is a store of its own, and the processes that work on it.
type run struct {
	*kit
	store     *host.Store
	host      *host.Host
	ledger    *ledger
	workloads []protocol.Workload
	lastID    int
	watchers  sync.WaitGroup // of processes, which Close ends

	mu   sync.Mutex
	live map[int]*host.Process // those that shall live
}

// run makes a store, calls part, and removes what is left. It reports what part returned.
func (k *kit) run(database bool, part func(*run) bool) (goesOn bool, err error) {
	dsn := ""
	if database {
		dsn = k.options.DSN
	}
	r := &run{kit: k, ledger: newLedger(k), live: map[int]*host.Process{}}
	if k.hello != nil {
		r.workloads = workloads(k.hello)
	}
	r.host, err = host.New(host.Config{
		Command: k.options.Command, Observe: r.observe, Log: func(_ int, line string) { k.log(line) },
		Misbehaved: func(_ int, m *host.Misbehaviour) bool {
			k.find(Finding{Check: m.About, Expected: m.Expected, Came: m.Came, Advice: m.Advice})
			return true
		},
	})
	if err != nil {
		return false, err
	}
	if r.store, err = host.NewStore(k.ctx, dsn); err == nil {
		goesOn = part(r)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(k.ctx), closeTimeout)
	defer cancel()
	err = errors.Join(err, r.host.Close(ctx))
	r.watchers.Wait()
	if r.store != nil {
		err = errors.Join(err, r.store.Close(ctx))
	}
	return goesOn, err
}

func (k *kit) log(line string) {
	if k.options.Log != nil {
		k.options.Log(line)
	}
}

// observe takes a report. Problems are for people.
func (r *run) observe(number int, m protocol.Response, at time.Time) {
	if m.Kind == protocol.KindProblem {
		r.log("problem: " + m.Message)
		return
	}
	r.ledger.observe(number, m, at)
}

// within bounds an answer.
func (r *run) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, r.options.Timeout)
}

// greet starts a process and has it say hello; nil: there is a finding.
func (r *run) greet(number int) *host.Process {
	p, err := r.host.Start(number)
	if err != nil {
		r.fail(Finding{Check: checkHello, Expected: "a program that can be started", Came: err.Error(), Advice: "check the command"})
		return nil
	}
	ctx, cancel := r.within()
	defer cancel()
	hello, err := p.Hello(ctx)
	if err != nil {
		f := Finding{
			Check: checkHello, Expected: fmt.Sprintf("a hello within %v", r.options.Timeout), Came: came(err),
			Advice: `answer {"pulley":"hello","version":1} by {"pulley":"hello","version":1,"name":…} as one line on standard output, and flush it`,
		}
		if wrong := (*host.Misbehaviour)(nil); errors.As(err, &wrong) {
			f.Expected, f.Advice = wrong.Expected, wrong.Advice
		}
		r.fail(f)
		p.Kill()
		return nil
	}
	if r.hello == nil {
		r.kit.hello = hello
	}
	return p
}

// setup is what processes of the run need to know.
func (r *run) setup(create bool) host.Setup {
	return host.Setup{Create: create, Store: r.store.Store, Settings: r.settings, Workloads: r.workloads}
}

// begin starts a process and sets it up; nil: there is a finding.
func (r *run) begin(check string, number int, create bool) *host.Process {
	r.begins(check)
	p := r.greet(number)
	if p == nil {
		return nil
	}
	ctx, cancel := r.within()
	defer cancel()
	if err := p.Setup(ctx, r.setup(create)); err != nil {
		advice := "create what the system needs when setup says create, and answer ready"
		if !create {
			advice = "without create, take what another process has created, and answer ready; several processes work on one store"
		}
		r.fail(Finding{Check: check, Sent: sentSetup(create), Expected: fmt.Sprintf("ready within %v", r.options.Timeout), Came: came(err), Advice: advice})
		p.Kill()
		return nil
	}
	if create { // no process works yet
		hello := *r.hello
		hello.Promises = p.Promises()
		r.kit.hello = &hello
	}
	return p
}

func sentSetup(create bool) string {
	if create {
		return `setup with "create":true`
	}
	return "setup without create"
}

// open lets a process begin to work, and reports whether it does.
func (r *run) open(check string, p *host.Process, slots int, report protocol.Report) bool {
	ctx, cancel := r.within()
	defer cancel()
	r.ledger.open(p.Number(), slots, report)
	if err := p.Open(ctx, slots, report); err != nil {
		r.fail(Finding{
			Check: check, Sent: fmt.Sprintf("open of process %d with %d slots", p.Number(), slots), Expected: fmt.Sprintf("ready within %v", r.options.Timeout), Came: came(err),
			Advice: "answer open by ready when tasks can be executed",
		})
		p.Kill()
		return false
	}
	r.keep(p)
	return true
}

// start starts a process that works; nil: there is a finding.
func (r *run) start(check string, number, slots int, report protocol.Report) *host.Process {
	p := r.begin(check, number, false)
	if p == nil || !r.open(check, p, slots, report) {
		return nil
	}
	return p
}

// keep notes that a process shall live, so that those that wait notice its death.
func (r *run) keep(p *host.Process) {
	r.mu.Lock()
	r.live[p.Number()] = p
	r.mu.Unlock()
	r.watchers.Go(func() { // ends with the process
		<-p.Done()
		r.ledger.poke()
	})
}

// release notes that a process may end.
func (r *run) release(p *host.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.live, p.Number())
}

// dead returns a process that should live; nil: all live.
func (r *run) dead() *host.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.live {
		select {
		case <-p.Done():
			return p
		default:
		}
	}
	return nil
}

// stop lets a process end in order, and checks that it exits with status 0.
func (r *run) stop(check, sent string, p *host.Process, how func(*host.Process, context.Context) error) bool {
	r.begins(check)
	r.release(p)
	ctx, cancel := r.within()
	defer cancel()
	if err := how(p, ctx); err != nil {
		return r.fail(Finding{
			Check: check, Sent: sent, Expected: fmt.Sprintf("its end with status 0 within %v", r.options.Timeout), Came: came(err),
			Advice: "take no more tasks, let those at work end or give them back, close connections, and exit with status 0",
		})
	}
	return true
}

// instances makes n new instances of a workload.
func (r *run) instances(workload string, n int) []protocol.Instance {
	i := slices.IndexFunc(r.workloads, func(w protocol.Workload) bool { return w.Name == workload })
	made := make([]protocol.Instance, 0, n)
	for range n {
		r.lastID++
		id := fmt.Sprintf("check-%d", r.lastID)
		r.ledger.add(id, &r.workloads[i])
		made = append(made, protocol.Instance{ID: id, Workload: workload})
	}
	return made
}

func idsOf(instances []protocol.Instance) []string {
	var ids []string
	for _, i := range instances {
		ids = append(ids, i.ID)
	}
	return ids
}

// submit submits instances and expects submitted.
func (r *run) submit(check string, p *host.Process, instances []protocol.Instance) bool {
	r.begins(check)
	ctx, cancel := r.within()
	defer cancel()
	c, err := p.NewSubmit(ctx, instances)
	if err == nil {
		err = p.Write(ctx, c.Line)
	}
	if err == nil {
		_, err = c.Await(ctx)
	}
	if err == nil {
		return true
	}
	f := Finding{
		Check: check, Expected: fmt.Sprintf("submitted with the batch within %v", r.options.Timeout), Came: came(err),
		Advice: "answer submit by submitted with the same batch when the instances are as durable as the system promises",
	}
	if c != nil {
		f.Sent = strings.TrimSpace(string(c.Line))
	}
	return r.fail(f)
}

// awaitEnds waits until instances have ended, and reports whether they did.
func (r *run) awaitEnds(check, sent string, within time.Duration, ids []string, advice string) bool {
	r.ledger.await(r.ctx, within, func() bool { return r.dead() != nil || len(r.ledger.openOf(ids)) == 0 })
	return r.haveEnded(check, sent, within, ids, advice)
}

// haveEnded finds a process that has died, and instances that have not ended within a time.
func (r *run) haveEnded(check, sent string, within time.Duration, ids []string, advice string) bool {
	if dead := r.dead(); dead != nil {
		r.release(dead)
		return r.fail(Finding{
			Check: check, Sent: sent, Expected: "processes that live until they are stopped", Came: fmt.Sprintf("the end of process %d with %v", dead.Number(), dead.State()),
			Advice: "look at its standard error",
		})
	}
	open, where := r.ledger.describeOpen(ids)
	if len(open) > 0 {
		r.fail(Finding{
			Check: check, Sent: sent, Expected: fmt.Sprintf("the ends of %d instances within %v", len(ids), roughly(within)),
			Came: fmt.Sprintf("those of %d; %s", len(ids)-len(open), where), Advice: advice,
		})
	}
	return len(open) == 0
}

// learn takes ends from the store.
func (l *ledger) learn(states []protocol.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range states {
		if s.Status == protocol.Completed || s.Status == protocol.Failed {
			l.ended(l.instances[s.ID], &protocol.Response{Kind: protocol.KindEnded, Instance: s.ID, Status: s.Status, Value: s.Value, Message: s.Message})
		}
	}
}

// openOf returns which instances have not ended. The lock is held.
func (l *ledger) openOf(ids []string) (open []*instance) {
	for _, id := range ids {
		if i := l.instances[id]; i.ended == nil {
			open = append(open, i)
		}
	}
	return open
}

// describeOpen returns which instances have not ended, and how far one of them is.
func (l *ledger) describeOpen(ids []string) (open []*instance, where string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if open = l.openOf(ids); len(open) == 0 {
		return nil, ""
	}
	i := open[0]
	var started, finished []string
	for _, k := range slices.SortedFunc(maps.Keys(i.tasks), func(a, b taskKey) int { return strings.Compare(a.String(), b.String()) }) {
		started = append(started, k.String())
		if len(i.tasks[k].values) > 0 {
			finished = append(finished, k.String())
		}
	}
	return open, fmt.Sprintf("of %s (%s), started are %s, and finished %s", i.id, i.workload.Name, list(started), list(finished))
}

// lost notes that a process was killed or cut off: its instances may fail, if the system promises no more.
func (r *run) lost(ids []string) {
	r.ledger.mu.Lock()
	defer r.ledger.mu.Unlock()
	for _, id := range ids {
		r.ledger.instances[id].killed = true
	}
}
