package world

import (
	"slices"

	"pulley/engine/dispatch"
	"pulley/sim/cases"
	"pulley/sim/db"
)

// applyFault lets a fault happen, if there is something that it can befall.
func (w *World) applyFault(f *cases.Fault) {
	p := w.engines[f.Target%len(w.engines)]
	happened := true
	met := w.busiest()
	switch f.Kind {
	case cases.Kill, cases.Freeze, cases.Partition, cases.Slow, cases.Drift, cases.MissNotifications, cases.Repeat, cases.Stuck, cases.Stop:
		met = p.busiest()
		happened = p.alive && !p.stopped && w.applyTo(p, f)
	case cases.Cut, cases.Hang, cases.Lost, cases.Terminate, cases.Timeout:
		met, happened = w.sever(f)
	case cases.Crash:
		if happened = w.Server.up; happened {
			w.Note(FaultBegan, 0, cases.KindNumber(f.Kind), 0, 0)
			w.Server.crash(NS(f.ForUS))
		}
	case cases.Full:
		w.Server.full = w.Now + NS(f.ForUS)
	case cases.Jump:
		w.Server.ahead += NS(f.By)
		w.Judge.Jumped(NS(f.By))
	case cases.Resubmit:
		inst := w.Instances[f.Target%w.arrived]
		happened = !inst.acknowledged && inst.Stored
		w.after(0, nil, func() { w.submit(inst, f.Target/2) })
	}
	if happened {
		w.countMet(f.Kind, met)
		w.Result.Counts.Faults[cases.KindNumber(f.Kind)]++
		w.Note(FaultBegan, f.Target, cases.KindNumber(f.Kind), f.ForUS, f.By)
	}
}

// applyTo lets something happen to an engine.
func (w *World) applyTo(p *Process, f *cases.Fault) bool {
	until := w.Now + NS(f.ForUS)
	switch f.Kind {
	case cases.Kill:
		p.crash(NS(f.ForUS))
	case cases.Freeze:
		p.frozen = max(p.frozen, until)
	case cases.Partition:
		p.disconnectedUntil = until
		for _, c := range slices.Clone(w.Server.conns) {
			if c.p == p {
				c.snap(w.Rand.Int64N(NS(f.ForUS) + 1))
			}
		}
	case cases.Stop:
		if p.draining {
			return false
		}
		p.drain(NS(f.ForUS) / 4)
		p.back = NS(f.ForUS)
	case cases.Slow:
		p.slow = until
	case cases.Drift:
		p.drift(f.By)
	case cases.MissNotifications:
		p.missesUntil = until
	case cases.Repeat:
		w.after(p.latency(), nil, func() { w.notify(w.engines[(p.Index+1)%len(w.engines)]) })
	case cases.Stuck:
		if len(p.tasks) == 0 {
			return false
		}
		t := p.tasks[0]
		if t.hasEnded {
			return false
		}
		held := *t
		t.hasEnded = true // its end comes later
		p.tasks[0] = &held
		w.after(NS(f.ForUS), p, func() { p.end(&held) })
		for i := range p.tasks {
			if p.tasks[i] == &held {
				return true
			}
		}
	}
	return true
}

// sever lets something happen to a connection: to one at work, as long as there is one.
func (w *World) sever(f *cases.Fault) (TargetState, bool) {
	var at *Conn
	conns := w.Server.conns
	for i := range conns {
		c := conns[(i+f.Target)%len(conns)]
		if c.clientDied || c.Broken {
			continue
		}
		if at == nil || c.phase != unused && at.phase == unused {
			at = c
		}
	}
	if at == nil {
		return 0, false
	}
	met, state := at.targetState(), at.Session.State()
	switch f.Kind {
	case cases.Cut:
		at.snap(0)
	case cases.Hang:
		at.snap(NS(f.ForUS))
	case cases.Lost:
		at.lost = true
	case cases.Terminate:
		w.terminate(at)
	case cases.Timeout:
		if state != db.Running && state != db.Waiting {
			return met, false
		}
		at.Session.Fail(db.ErrCanceled)
	}
	return met, true
}

// terminate has the server end a session, which says so before it goes.
func (w *World) terminate(c *Conn) {
	if s := c.Session.State(); s == db.Running || s == db.Waiting {
		c.Session.Fail(db.ErrShutdown)
		if c.clientDied {
			return
		}
	}
	c.Session.End()
	c.end()
	if c.phase != answering {
		c.snap(0)
	}
	c.Broken = true
}

// heal ends all faults.
func (w *World) heal() {
	for _, p := range w.engines {
		p.slow, p.missesUntil, p.disconnectedUntil = 0, 0, 0
	}
	w.Server.full = 0
	for _, c := range w.Server.conns {
		c.lost = false
	}
}

// faultsRemaining is how long the faults that have begun still last.
func (w *World) faultsRemaining() int64 {
	last := max(w.Server.full, w.Now+abs(w.Server.ahead))
	for _, p := range w.engines {
		last = max(last, p.frozen, p.slow, p.disconnectedUntil, p.missesUntil)
	}
	return last - w.Now + NS(3*w.LeaseUS)
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}

// TargetState is in which state something is that a fault befalls: no transaction, then that of a connection.
type TargetState uint8

// TargetStates is how many there are: one without a connection, and each state of a session in each phase of its connection.
const TargetStates = 1 + db.StatesMax*Phases

func (m TargetState) String() string {
	if m == 0 {
		return "no connection"
	}
	m--
	return Phase(m%Phases).String() + ", session " + db.State(m/Phases).String()
}

func (c *Conn) targetState() TargetState {
	return TargetState(1 + int(c.Session.State())*Phases + int(c.phase))
}

// busiest is the mood of that connection of a process which is furthest in what it does.
func (p *Process) busiest() TargetState {
	var m TargetState
	for _, c := range p.World.Server.conns {
		if c.p == p && !c.clientDied && !c.Broken {
			m = max(m, c.targetState())
		}
	}
	return m
}

func (w *World) busiest() TargetState {
	var m TargetState
	for _, c := range w.Server.conns {
		if !c.clientDied && !c.Broken {
			m = max(m, c.targetState())
		}
	}
	return m
}

func (w *World) countMet(k cases.Kind, m TargetState) { w.Result.Counts.Met[cases.KindNumber(k)][m]++ }

// notify has a notification travel to all other engines: if the server is there, and they listen.
func (w *World) notify(from *Process) {
	if !w.Server.up {
		return
	}
	for _, p := range w.engines {
		if p == from || !p.alive {
			continue
		}
		if w.Now < p.missesUntil || w.Now < p.disconnectedUntil {
			w.Note(Unheard, p.Index, 0, 0, 0)
			continue
		}
		w.after(p.latency(), p, func() {
			w.Note(Notified, p.Index, 0, 0, 0)
			p.queueEvent(dispatch.Notified{})
		})
	}
}
