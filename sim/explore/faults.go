package explore

import (
	"slices"

	"pulley/engine/dispatch"
	"pulley/sim/db"
)

// strike lets a fault happen, if there is something that it can befall.
func (w *world) strike(f *Fault) {
	p := w.engines[f.Who%len(w.engines)]
	happened := true
	met := w.busiest()
	switch f.Kind {
	case Kill, Freeze, Partition, Slow, Drift, Deaf, Repeat, Stuck, Stop:
		met = p.busiest()
		happened = p.alive && !p.stopped && w.befall(p, f)
	case Cut, Hang, Lost, Terminate, Timeout:
		met, happened = w.sever(f)
	case Crash:
		if happened = w.server.up; happened {
			w.note(Struck, 0, kindNumber(f.Kind), 0, 0)
			w.server.crash(us(f.ForUS))
		}
	case Full:
		w.server.full = w.now + us(f.ForUS)
	case Jump:
		w.server.ahead += us(f.By)
		w.judge.jumped(us(f.By))
	case Resubmit:
		inst := w.insts[f.Who%w.arrived]
		happened = !inst.known && inst.taken
		w.after(0, nil, func() { w.submit(inst, f.Who/2) })
	}
	if happened {
		w.met(f.Kind, met)
		w.result.Counts.Faults[kindNumber(f.Kind)]++
		w.note(Struck, f.Who, kindNumber(f.Kind), f.ForUS, f.By)
	}
}

// befall lets something happen to an engine.
func (w *world) befall(p *process, f *Fault) bool {
	until := w.now + us(f.ForUS)
	switch f.Kind {
	case Kill:
		p.die(us(f.ForUS))
	case Freeze:
		p.frozen = max(p.frozen, until)
	case Partition:
		p.cutOff = until
		for _, c := range slices.Clone(w.server.conns) {
			if c.p == p {
				c.snap(w.rng.Int64N(us(f.ForUS) + 1))
			}
		}
	case Stop:
		if p.draining {
			return false
		}
		p.drain(us(f.ForUS) / 4)
		p.back = us(f.ForUS)
	case Slow:
		p.slow = until
	case Drift:
		p.drift(f.By)
	case Deaf:
		p.deaf = until
	case Repeat:
		w.after(p.latency(), nil, func() { w.notify(w.engines[(p.index+1)%len(w.engines)]) })
	case Stuck:
		if len(p.tasks) == 0 {
			return false
		}
		t := p.tasks[0]
		if t.over {
			return false
		}
		held := *t
		t.over = true // its end comes later
		p.tasks[0] = &held
		w.after(us(f.ForUS), p, func() { p.end(&held) })
		for i := range p.tasks {
			if p.tasks[i] == &held {
				return true
			}
		}
	}
	return true
}

// sever lets something happen to a connection: to one at work, as long as there is one.
func (w *world) sever(f *Fault) (mood, bool) {
	var at *conn
	conns := w.server.conns
	for i := range conns {
		c := conns[(i+f.Who)%len(conns)]
		if c.dead || c.broken {
			continue
		}
		if at == nil || c.phase != quiet && at.phase == quiet {
			at = c
		}
	}
	if at == nil {
		return 0, false
	}
	met, state := at.mood(), at.session.State()
	switch f.Kind {
	case Cut:
		at.snap(0)
	case Hang:
		at.snap(us(f.ForUS))
	case Lost:
		at.lost = true
	case Terminate:
		w.terminate(at)
	case Timeout:
		if state != db.Running && state != db.Waiting {
			return met, false
		}
		at.session.Fail(db.ErrCanceled)
	}
	return met, true
}

// terminate has the server end a session, which says so before it goes.
func (w *world) terminate(c *conn) {
	if s := c.session.State(); s == db.Running || s == db.Waiting {
		c.session.Fail(db.ErrShutdown)
		if c.dead {
			return
		}
	}
	c.session.End()
	c.end()
	if c.phase != answering {
		c.snap(0)
	}
	c.broken = true
}

// heal ends all faults.
func (w *world) heal() {
	for _, p := range w.engines {
		p.slow, p.deaf, p.cutOff = 0, 0, 0
	}
	w.server.full = 0
	for _, c := range w.server.conns {
		c.lost = false
	}
}

// troubles is how long the faults that have begun still last.
func (w *world) troubles() int64 {
	last := max(w.server.full, w.now+abs(w.server.ahead))
	for _, p := range w.engines {
		last = max(last, p.frozen, p.slow, p.cutOff, p.deaf)
	}
	return last - w.now + us(3*w.LeaseUS)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// mood is in which state something is that a fault befalls: no transaction, then that of a connection.
type mood uint8

// moods is how many there are: one without a connection, and each state of a session in each phase of its connection.
const moods = 1 + db.StatesMax*phases

func (m mood) String() string {
	if m == 0 {
		return "no connection"
	}
	m--
	return phase(m%phases).String() + ", session " + db.State(m/phases).String()
}

func (c *conn) mood() mood { return mood(1 + int(c.session.State())*phases + int(c.phase)) }

// busiest is the mood of that connection of a process which is furthest in what it does.
func (p *process) busiest() mood {
	var m mood
	for _, c := range p.w.server.conns {
		if c.p == p && !c.dead && !c.broken {
			m = max(m, c.mood())
		}
	}
	return m
}

func (w *world) busiest() mood {
	var m mood
	for _, c := range w.server.conns {
		if !c.dead && !c.broken {
			m = max(m, c.mood())
		}
	}
	return m
}

func (w *world) met(k Kind, m mood) { w.result.Counts.Met[kindNumber(k)][m]++ }

// notify has a notification travel to all other engines: if the server is there, and they listen.
func (w *world) notify(from *process) {
	if !w.server.up {
		return
	}
	for _, p := range w.engines {
		if p == from || !p.alive {
			continue
		}
		if w.now < p.deaf || w.now < p.cutOff {
			w.note(Unheard, p.index, 0, 0, 0)
			continue
		}
		w.after(p.latency(), p, func() {
			w.note(Woken, p.index, 0, 0, 0)
			p.tell(dispatch.Woken{})
		})
	}
}
