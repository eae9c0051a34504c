package check

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/internal/pause"
	"pulley/internal/plural"
)

// pauseOfPieces lets a process see the first piece of a line alone; it must work whether or not it does.
const pauseOfPieces = 50 * time.Millisecond

// together is the part of a check in which two processes work on one store. Its steps return false if the next ones would only
// repeat their mistake.
type together struct {
	*run
	procs [2]*host.Process
	done  []string // instances that have ended, in the order of their submission
}

// single submits an instance of one task to each process.
func (t *together) single() bool {
	const check = "single"
	var ids []string
	for _, p := range t.procs {
		instances := t.instances(wlOne, 1)
		if !t.submit("submit", p, instances) {
			return false
		}
		ids = append(ids, idsOf(instances)...)
	}
	t.done = append(t.done, ids...)
	t.begins(check)
	return t.awaitEnds(check, "", t.options.Timeout, ids, "execute what is submitted, and report started, finished and ended")
}

// oddInput writes submits as no other part does.
func (t *together) oddInput() bool {
	for _, odd := range []struct {
		check, advice string
		batches       int
		write         func(lines [][]byte) [][]byte // pieces to be written
	}{
		{
			"two requests at once", "read all lines that are there: what is left in a buffer is not announced by the system again", 2,
			func(lines [][]byte) [][]byte { return [][]byte{bytes.Join(lines, nil)} },
		},
		{
			"a request in pieces", "read until the line feed before the line is taken apart", 1,
			func(lines [][]byte) [][]byte { return [][]byte{lines[0][:20], lines[0][20:]} },
		},
		{
			"later versions", "ignore kinds of messages and fields that you do not know, and take null for a field that is not there", 1,
			func(lines [][]byte) [][]byte {
				more := bytes.Replace(lines[0], []byte(`{"pulley":"submit",`), []byte(`{"pulley":"submit","of_a_later_version":{"a":[1,null]},"ids":null,`), 1)
				return [][]byte{append([]byte(`{"pulley":"of_a_later_version","batch":1}`+"\n"), more...)}
			},
		},
	} {
		if !t.odd(odd.check, odd.advice, odd.batches, odd.write) {
			return false
		}
	}
	return true
}

func (t *together) odd(check, advice string, batches int, write func([][]byte) [][]byte) bool {
	t.begins(check)
	ctx, cancel := t.within()
	defer cancel()
	p := t.procs[0]
	var calls []*host.Call
	var lines [][]byte
	var ids []string
	for range batches {
		instances := t.instances(wlOne, 1)
		c, err := p.NewSubmit(ctx, instances)
		if err != nil {
			return t.fail(Finding{Check: check, Expected: "a process that lives", Came: came(err), Advice: advice})
		}
		calls, lines, ids = append(calls, c), append(lines, c.Line), append(ids, idsOf(instances)...)
	}
	var sent []byte
	for n, piece := range write(lines) {
		if n > 0 && pause.For(ctx, pauseOfPieces) != nil {
			return false
		}
		sent = append(sent, piece...)
		_ = p.Write(ctx, piece) // a missing answer shows that nobody reads
	}
	for _, c := range calls {
		if _, err := c.Await(ctx); err != nil {
			return t.fail(Finding{
				Check: check, Sent: string(bytes.TrimSpace(sent)), Expected: fmt.Sprintf("submitted with the batch %d", c.Batch), Came: came(err), Advice: advice,
			})
		}
	}
	t.done = append(t.done, ids...)
	return t.awaitEnds(check, "", t.options.Timeout, ids, advice)
}

// shapes submits instances of each workload, large values among them. After a workload whose instances do not end the others are not
// tried: they would wait in vain, too.
func (t *together) shapes() bool {
	const each = 3
	for _, s := range []protocol.Shape{protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries} {
		if !slices.Contains(t.hello.Shapes, s) {
			t.leaveOut(string(s), "hello does not have this shape")
		}
	}
	for n := range t.workloads {
		check := checkOf(&t.workloads[n])
		if check == "" {
			continue
		}
		for m, p := range t.procs {
			instances := t.instances(t.workloads[n].Name, each-m)
			if !t.submit(check, p, instances) {
				return false
			}
			t.done = append(t.done, idsOf(instances)...)
		}
		const advice = "execute each task when those that it needs have finished, and report ended when all have"
		if !t.awaitEnds(check, "", t.options.Timeout, t.done[len(t.done)-2*each+1:], advice) {
			return false
		}
	}
	return true
}

// checkOf names the check that submits instances of a workload for their shape; empty: there is none.
func checkOf(w *protocol.Workload) string {
	shapes := w.Shapes()
	switch {
	case w.Name == wlOne || w.Name == wlSlow || w.Name == wlLong:
		return ""
	case w.Name == wlLarge:
		return "large values"
	case slices.Contains(shapes, protocol.ShapeRetries):
		return "retries"
	case slices.Contains(shapes, protocol.ShapeRepeat):
		return "repeat"
	}
	return "graph " + w.Name
}

// look asks for all that has ended, for an instance that nobody submitted, and for one at work.
func (t *together) look() bool {
	if !t.compare("look", t.procs[1], t.done) {
		return false
	}
	if t.hello.Promises.Submit != protocol.Durable {
		t.leaveOut("submitted is durable", "the adapter does not promise it")
		return true
	}
	const check = "submitted is durable"
	instances := t.instances(wlSlow, 1)
	if !t.submit(check, t.procs[0], instances) {
		return false
	}
	ids := idsOf(instances)
	ctx, cancel := t.within()
	defer cancel()
	states, err := t.procs[1].Look(ctx, ids)
	if err == nil && states[0].Status == protocol.Unknown {
		t.find(Finding{
			Check: check, Sent: "look through another process right after submitted", Expected: "a status that is not unknown", Came: "unknown for " + ids[0],
			Advice: "answer submitted when the instance is stored, and no earlier",
		})
	}
	t.done = append(t.done, ids...)
	return t.awaitEnds(check, "", t.options.Timeout, ids, "execute what is submitted")
}

// compare asks for instances that have ended, and holds the answer against what was reported.
func (t *together) compare(check string, p *host.Process, ids []string) bool {
	t.begins(check)
	const nobody = "check-nobody-submitted-this"
	ctx, cancel := t.within()
	defer cancel()
	states, err := p.Look(ctx, append(slices.Clone(ids), nobody))
	if err != nil {
		return t.fail(Finding{
			Check: check, Sent: fmt.Sprintf("look of %d ids", len(ids)+1), Expected: fmt.Sprintf("states within %v", t.options.Timeout), Came: came(err),
			Advice: "answer look by states with the same batch, and a state for each id",
		})
	}
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	for _, s := range states {
		i := t.ledger.instances[s.ID]
		switch {
		case i == nil && s.Status != protocol.Unknown:
			t.find(Finding{Check: check, Sent: "look of " + s.ID, Expected: "the status unknown for an id that was never submitted", Came: string(s.Status), Advice: "say unknown of what the store does not have"})
		case i != nil && i.ended != nil && (s.Status != i.ended.Status || s.Value != i.ended.Value):
			t.find(Finding{
				Check: check, Sent: "look of " + s.ID, Expected: "what ended reported, byte for byte", Came: fmt.Sprintf("%s %q, after %s", s.Status, shorten(s.Value), i.endCame),
				Advice: "report an end when it is durable, and answer look from the store",
			})
		}
	}
	return true
}

// resubmit submits instances again: some that have ended, and new ones to both processes.
func (t *together) resubmit() bool {
	const check = "resubmission"
	if t.hello.Promises.Resubmit != protocol.Once {
		t.leaveOut(check, "the adapter does not promise once")
		return true
	}
	t.begins(check)
	var ended []protocol.Instance
	for _, id := range t.done[:4] { // of a task each, by single and oddInput
		ended = append(ended, protocol.Instance{ID: id, Workload: wlOne})
	}
	before := t.executions(ended)
	fresh := t.instances(wlOne, 3)
	later := t.instances(wlSlow, 2) // gives the system time to do wrong
	for n, p := range t.procs {
		if !t.submit(check, p, ended) || !t.submit(check, p, fresh) || !t.submit(check, p, later[n:n+1]) {
			return false
		}
	}
	ids := idsOf(slices.Concat(fresh, later))
	t.done = append(t.done, ids...)
	if !t.awaitEnds(check, "", t.options.Timeout, ids, "execute what is submitted, also if it is submitted twice") {
		return false
	}
	if after := t.executions(ended); after > before {
		t.find(Finding{
			Check: check, Sent: fmt.Sprintf("submit of %d instances that have ended", len(ended)), Expected: "no execution of a task, as the promise resubmit once says",
			Came: plural.Of(after-before, "execution"), Advice: "let an id that is there be, and answer submitted; or promise none",
		})
	}
	return true
}

// executions counts what was started of instances.
func (t *together) executions(instances []protocol.Instance) (n int) {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	for _, i := range instances {
		for _, task := range t.ledger.instances[i.ID].tasks {
			n += len(task.executions)
		}
	}
	return n
}

// submitSlow submits instances that take time to processes.
func (t *together) submitSlow(check string, n int, procs ...*host.Process) (ids []string, ok bool) {
	for _, p := range procs {
		instances := t.instances(wlSlow, n)
		if !t.submit(check, p, instances) {
			return nil, false
		}
		ids = append(ids, idsOf(instances)...)
	}
	t.done = append(t.done, ids...)
	return ids, true
}

// atOnce gives the processes more work than they have slots.
func (t *together) atOnce() bool {
	const check = "slots"
	var ids []string
	for _, p := range t.procs {
		instances := t.instances(wlLong, 2*slots)
		if !t.submit(check, p, instances) {
			return false
		}
		ids = append(ids, idsOf(instances)...)
	}
	t.done = append(t.done, ids...)
	if !t.awaitEnds(check, "", t.options.Timeout, ids, "execute what is submitted") {
		return false
	}
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	if most := max(t.ledger.workers[0].most, t.ledger.workers[1].most); most < 2 {
		t.find(Finding{
			Check: check, Sent: fmt.Sprintf("%d instances to two processes with %d slots each", len(ids), slots), Expected: "tasks that are executed at once",
			Came: "never more than one in a process", Advice: "execute as many tasks at once as open has slots",
		})
	}
	t.begins("ms")
	if least := longMS * time.Millisecond / 2; t.ledger.longest < least {
		t.find(Finding{
			Check: "ms", Sent: fmt.Sprintf(`a task with "ms":%d`, longMS), Expected: "time between its started and its finished", Came: fmt.Sprintf("at most %v", t.ledger.longest),
			Advice: "sleep so long between started and finished",
		})
	}
	return true
}

// atWork waits until a process has a task at work, and reports whether it has; false: all instances have ended without it.
func (t *together) atWork(number int, ids []string) (has bool) {
	t.ledger.await(t.ctx, t.options.Timeout, func() bool {
		has = len(t.ledger.workers[number].working) > 0
		return has || len(t.ledger.openOf(ids)) == 0 || t.dead() != nil
	})
	return has
}

// kill kills a process at work. The other one continues its work, or a new one does, if the system does not promise more.
func (t *together) kill() bool {
	const check = "a killed process"
	const sent = "SIGKILL to one of two processes while it had tasks at work"
	ids, ok := t.submitSlow(check, 2*slots, t.procs[:]...)
	if !ok {
		return false
	}
	if !t.atWork(1, ids) {
		t.leaveOut(check+" with tasks at work", "process 1 got none")
	}
	t.lost(ids)
	victim := t.procs[1]
	t.release(victim)
	victim.Kill()
	<-victim.Done()
	t.ledger.free(1)
	promises := t.hello.Promises
	elsewhere := promises.RecoversMS > 0
	if !elsewhere && !t.replace(check, 1) {
		return false
	}
	if !elsewhere && promises.Submit != protocol.Durable {
		t.leaveOut(check, "the adapter promises neither durable nor recovers_ms")
		t.done = t.done[:len(t.done)-len(ids)]
		return true
	}
	if !t.awaitStored(check, sent, ids, false, "let other processes take over the work of one that has died, within recovers_ms; a new process continues it otherwise") {
		return false
	}
	return !elsewhere || t.replace("a process after a killed one", 1)
}

// replace starts a process with the number of one that has ended.
func (t *together) replace(check string, number int) bool {
	t.procs[number] = t.start(check, number, slots, protocol.ReportTasks)
	return t.procs[number] != nil
}

// pauseMax bounds a pause, whatever recovers_ms is.
const pauseMax = 5 * time.Second

// pauseAtWork pauses a process at work, so that others may take over what it will complete later, too.
func (t *together) pauseAtWork() bool {
	const check = "a paused process"
	ids, ok := t.submitSlow(check, slots, t.procs[:]...)
	if !ok {
		return false
	}
	t.atWork(1, ids)
	t.lost(ids)
	p := t.procs[1]
	p.Pause()
	within := min(pauseMax, max(slowMS, time.Duration(t.hello.Promises.RecoversMS))*time.Millisecond)
	t.ledger.await(t.ctx, within, func() bool { return len(t.ledger.openOf(ids)) == 0 })
	p.Continue()
	return t.awaitStored(check, "SIGSTOP and SIGCONT to one of two processes while it had tasks at work", ids, true,
		"let one completion of a task count, and continue; or exit, and let a new process continue")
}

// cut ends all connections to the database while tasks are at work.
func (t *together) cut() bool {
	const check = "lost connections"
	ids, ok := t.submitSlow(check, slots, t.procs[:]...)
	if !ok {
		return false
	}
	t.atWork(0, ids)
	t.lost(ids)
	if t.store.Sever() == 0 {
		t.leaveOut(check, "the adapter has no connection to the database")
	}
	return t.awaitStored(check, "the end of all connections to the database", ids, true, "connect again, and continue; or exit, and let a new process continue")
}

// Bounds of waits after something went wrong.
const (
	lookPause   = time.Second // between looks for ends that nobody reported
	restartsMax = 4           // of processes that end of it
)

// awaitStored waits for the ends of instances after something went wrong, and asks the store for those that nobody reported:
// the process that knew of one may be dead. If processes may end, it starts new ones.
func (t *together) awaitStored(check, sent string, ids []string, mayEnd bool, advice string) bool {
	within := t.recovery()
	restarts := 0
	for until := time.Now().Add(within); time.Until(until) > 0 && t.ctx.Err() == nil; {
		ended := false
		t.ledger.await(t.ctx, min(lookPause, time.Until(until)), func() bool {
			ended = len(t.ledger.openOf(ids)) == 0
			return ended || t.dead() != nil
		})
		dead := t.dead()
		if dead != nil && mayEnd && restarts < restartsMax {
			restarts++
			t.release(dead)
			t.ledger.free(dead.Number())
			if !t.replace(check, dead.Number()) {
				return false
			}
			continue
		}
		if ended || dead != nil || !t.lookFor(ids) {
			break
		}
	}
	return t.haveEnded(check, sent, within, ids, advice)
}

// lookFor asks the store for instances that have not ended, and reports whether it answers.
func (t *together) lookFor(ids []string) bool {
	open, _ := t.ledger.describeOpen(ids)
	asked := make([]string, 0, len(open))
	for _, i := range open {
		asked = append(asked, i.id)
	}
	ctx, cancel := t.within()
	defer cancel()
	states, err := t.procs[0].Look(ctx, asked)
	if err != nil {
		select {
		case <-t.procs[0].Done():
			return true // the next turn finds that
		default:
			return false
		}
	}
	t.ledger.learn(states)
	return true
}

// stopAtWork stops a process that has tasks at work.
func (t *together) stopAtWork() bool {
	const check = "stop at work"
	const sent = "stop while tasks are at work"
	ids, ok := t.submitSlow(check, 2*slots, t.procs[1])
	if !ok {
		return false
	}
	t.atWork(1, ids)
	stopped := t.stop(check, sent, t.procs[1], (*host.Process).Stop)
	t.ledger.free(1)
	if t.procs[1] = nil; t.hello.Promises.RecoversMS == 0 && !t.replace(check, 1) {
		return false
	}
	ended := t.awaitStored(check, sent, ids, false, "let tasks at work end, or give them back, so that another process executes them")
	return stopped && ended
}

// ends has a new process work that reports ends only, and has it compare what is stored with what the others reported.
func (t *together) ends() bool {
	const check = "report ends"
	for n, p := range t.procs {
		if p != nil && !t.stop("stop", "stop", p, (*host.Process).Stop) {
			return false
		}
		t.ledger.free(n)
	}
	p := t.start(check, 0, slots, protocol.ReportEnds)
	if p == nil {
		return false
	}
	names := []string{wlOne}
	if slices.Contains(t.hello.Shapes, protocol.ShapeGraph) {
		names = append(names, "diamond")
	}
	var ids []string
	for _, name := range names {
		instances := t.instances(name, 4)
		t.ledger.hush(idsOf(instances))
		if !t.submit(check, p, instances) {
			return false
		}
		ids = append(ids, idsOf(instances)...)
	}
	if t.awaitEnds(check, "", t.options.Timeout, ids, "report ended with the report ends, too") {
		t.compare("look in a new process", p, append(t.done, ids...))
	}
	return t.stop("end of standard input", "the end of standard input, without stop", p, (*host.Process).EndInput)
}
