package explore

import (
	"encoding/json"
	"fmt"
	"strconv"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
	"pulley/sim/db"
)

// The statements of a design on a pgHost are known by their text. Each is written anew for the simulated database: the same
// rows, locks, conditions and order of parts. Of the parts of a statement the server does those first that its result is
// read from, in their order, and then the others, the last first.

// known is a statement that a store knows.
type known[S any] struct {
	name  string // of its file
	build func(s S, a *asked, args []any)
}

// byText gives statements by what is sent.
func byText[S any](sql func(name string) (string, error), all map[string]func(S, *asked, []any), into map[string]known[S]) map[string]known[S] {
	for name, build := range all {
		text, err := sql(name)
		if err != nil {
			panic(err) // the files are part of the program
		}
		into[text] = known[S]{name, build}
	}
	return into
}

// sharedSQL are the statements of package postgres.
var sharedSQL = map[string]func(*base, *asked, []any){
	"lookup": (*base).lookup, "cancel": (*base).cancel, "settle": (*base).settle, "life": (*base).life,
	"join": (*base).join, "leave": (*base).leave, "peers": (*base).peers,
}

const notifySQL = "SELECT pg_notify($1, $2)"

var sharedTexts = byText(postgres.SQL, sharedSQL, map[string]known[*base]{notifySQL: {"notify", (*base).notify}})

// shared makes a statement that all designs have.
func (b *base) shared(sql string, args []any) *asked {
	k, ok := sharedTexts[sql]
	if !ok {
		panic(fmt.Sprintf("explore: nobody knows the statement %s", sql))
	}
	a := b.memory.next(k.name, sql, args)
	k.build(b, a, args)
	return a
}

// statementOf makes a statement of a design, or one that all have.
func statementOf[S any](s S, b *base, texts map[string]known[S], sql string, args []any) *asked {
	k, ok := texts[sql]
	if !ok {
		return b.shared(sql, args)
	}
	a := b.memory.next(k.name, sql, args)
	k.build(s, a, args)
	return a
}

// instanceOf finds an instance by its id, which is one that there is.
func (b *base) instanceOf(id [16]byte) *instance {
	inst := b.w.instanceOf(id)
	if inst == nil {
		panic(fmt.Sprintf("explore: no instance %x", id))
	}
	return inst
}

// running gives what a statement sees of an instance, if it runs.
func (b *base) running(x *db.Exec, id [16]byte) *db.Version[int32, instanceRow] {
	v := b.instances.Get(x, int32(b.instanceOf(id).index))
	if v == nil || v.Value.status != backend.Running {
		return nil
	}
	return v
}

func (b *base) lookup(a *asked, args []any) {
	a.then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			v := b.instances.Get(x, int32(b.instanceOf(id).index))
			if v == nil {
				continue
			}
			var failure []byte
			if f := v.Value.failure; f != nil {
				failure, _ = json.Marshal(f) // it was read from JSON, or made by the core
			}
			a.give(id, string(v.Value.status), []byte(v.Value.result), failure)
		}
		return nil
	})
}

func (b *base) cancel(a *asked, args []any) {
	ids, failure := args[1].([][16]byte), &plan.Failure{}
	if err := json.Unmarshal([]byte(args[2].(string)), failure); err != nil {
		panic(err) // the store has written it
	}
	a.write = true
	a.each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := b.instanceOf(ids[i])
		v, err := lockOne(x, b.instances, int32(inst.index), db.ForUpdate, func(r instanceRow) bool { return r.status == backend.Running })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.status, row.untidy, row.failure = backend.Canceled, true, failure
		ok, err := b.instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			x.Note(endedNote{inst, backend.Canceled})
			a.give(ids[i])
		}
		return err
	})
}

func (b *base) settle(a *asked, args []any) {
	number, err := strconv.ParseUint(args[0].(string), 10, 64)
	if err != nil {
		panic(err) // the server has given it
	}
	a.then(func(x *db.Exec) error {
		b.w.note(Settles, 0, 0, 0, 0)
		if v := b.lives.Get(x, 0); (v == nil || v.Value != args[1].(string)) && b.w.Bug != bugLifeIgnored {
			return nil
		}
		status := b.w.server.Status(number)
		switch {
		case status == "":
			return db.ErrFuture
		case status == db.Aborted && b.w.Bug == bugUnknownIsSuccess:
			status = db.Done
		}
		a.give(string(status))
		return nil
	})
}

func (b *base) life(a *asked, _ []any) {
	name := ""
	a.then(func(x *db.Exec) error {
		if name == "" {
			name = b.w.freshID().String()
		}
		ok, err := b.lives.InsertNew(x, 0, name)
		if ok {
			a.give(name)
		}
		return err
	})
	a.then(func(x *db.Exec) error {
		if v := b.lives.Get(x, 0); v != nil && len(a.out.list) == 0 {
			a.give(v.Value)
		}
		return nil
	})
}

func (b *base) notify(a *asked, args []any) {
	a.notify(args[0].(string), args[1].(string))
	a.give("")
}

// join: see join.sql. Who is here is known by its session, for as long as that lasts.
func (b *base) join(a *asked, args []any) { b.tellPeers(a, args, true) }

// leave: see leave.sql.
func (b *base) leave(a *asked, args []any) { b.tellPeers(a, args, false) }

// tellPeers says that an engine is here, or is not any more. Its lock is the connection's; to Postgres as a shadow, which lends
// connections to sessions for their statements, only the notification is.
func (b *base) tellPeers(a *asked, args []any, here bool) {
	a.sql, a.args = notifySQL, args[2:]
	a.then(func(x *db.Exec) error {
		b.here[x.Session().ID] = here
		return nil
	})
	b.notify(a, a.args)
}

// peers: see peers.sql. It has no shadow, on which those numbers are others.
func (b *base) peers(a *asked, args []any) {
	a.sql = ""
	a.then(func(*db.Exec) error {
		all, before := int32(0), int32(0)
		for _, s := range b.w.server.Sessions() {
			if !b.here[s.ID] {
				continue
			}
			if all++; int32(s.ID) < args[2].(int32) {
				before++
			}
		}
		a.give(all, before)
		return nil
	})
}

// xid gives a transaction's number as the server's text.
func xid(x *db.Exec) string { return strconv.FormatUint(x.Number(), 10) }
