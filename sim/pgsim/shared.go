package pgsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/internal/pgstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/world"
)

// A design's statements are identified by their text and reimplemented with the same rows, locks, conditions and order of parts.
// The server first runs the parts that a statement's result is read from, in order, and then the others, last first.

// Store is a design's simulated store.
type Store interface{ Common() *Base }

// Build adds the steps of a statement.
type Build[S Store] func(s S, a *Statement, args []any)

// Catalog maps texts to the statements that a store knows.
type Catalog[S Store] struct{ texts Texts[catalogEntry[S]] }

type catalogEntry[S Store] struct {
	name  string
	build Build[S]
}

// Statements makes the catalog of a design. sql returns a statement's text by name.
func Statements[S Store](sql func(name string) (string, error), all map[string]Build[S]) Catalog[S] {
	texts := Texts[catalogEntry[S]]{}
	for name, build := range all {
		text, err := sql(name)
		if err != nil {
			panic(err)
		}
		texts.Add(text, catalogEntry[S]{name, build})
	}
	return Catalog[S]{texts}
}

// Join merges shared statements with a design's own, which have precedence.
func Join[S Store](own map[string]Build[S], shared ...map[string]Build[S]) map[string]Build[S] {
	all := map[string]Build[S]{}
	for _, more := range append(slices.Clone(shared), own) {
		maps.Copy(all, more)
	}
	return all
}

var sharedSQL = map[string]Build[*Base]{
	"lookup": (*Base).lookup, "cancel": (*Base).cancel, "resolve": (*Base).resolve, "incarnation": (*Base).incarnation,
	"needs_cleanup": (*Base).needsCleanup, "join": (*Base).join, "leave": (*Base).leave, "peers": (*Base).peers,
}

const notifySQL = "SELECT pg_notify($1, $2)"

var sharedTexts = func() Catalog[*Base] {
	all := Statements(pgstore.SQL, sharedSQL)
	all.texts.Add(notifySQL, catalogEntry[*Base]{"notify", (*Base).notify})
	return all
}()

// Shared makes a statement that all designs have.
func (b *Base) Shared(sql string, args []any) *Statement {
	a, ok := sharedTexts.of(b, sql, args)
	if !ok {
		panic(fmt.Sprintf("pgsim: nobody knows the statement %s", sql))
	}
	return a
}

// Of makes a design's own or a shared statement.
func (all Catalog[S]) Of(s S, sql string, args []any) *Statement {
	if a, ok := all.of(s, sql, args); ok {
		return a
	}
	return s.Common().Shared(sql, args)
}

func (all Catalog[S]) of(s S, sql string, args []any) (*Statement, bool) {
	k, ok := all.texts.Find(sql)
	if !ok {
		return nil, false
	}
	a := s.Common().Memory.Next(k.name, sql, args)
	k.build(s, a, args)
	return a, true
}

// InstanceOf finds an existing instance by its id.
func (b *Base) InstanceOf(id [16]byte) *world.Instance {
	inst := b.World.InstanceOf(id)
	if inst == nil {
		panic(fmt.Sprintf("pgsim: no instance %x", id))
	}
	return inst
}

// Running returns the visible row of a running instance; nil: it does not run.
func (b *Base) Running(x *db.Exec, id [16]byte) *db.Version[int32, InstanceRow] {
	v := b.Instances.Get(x, int32(b.InstanceOf(id).Index))
	if v == nil || v.Value.Status != backend.Running {
		return nil
	}
	return v
}

func (b *Base) lookup(a *Statement, args []any) {
	a.Then(func(x *db.Exec) error {
		for _, id := range args[1].([][16]byte) {
			v := b.Instances.Get(x, int32(b.InstanceOf(id).Index))
			if v == nil {
				continue
			}
			var failure []byte
			if f := v.Value.Failure; f != nil {
				failure, _ = json.Marshal(f) // it comes from JSON or from the core
			}
			a.AddRow(id, string(v.Value.Status), []byte(v.Value.Result), failure)
		}
		return nil
	})
}

func (b *Base) cancel(a *Statement, args []any) {
	ids, failure := args[1].([][16]byte), &plan.Failure{}
	if err := json.Unmarshal([]byte(args[2].(string)), failure); err != nil {
		panic(err)
	}
	a.Write = true
	a.Each(func() int { return len(ids) }, func(x *db.Exec, i int) error {
		inst := b.InstanceOf(ids[i])
		v, err := LockRow(x, b.Instances, int32(inst.Index), db.ForUpdate, func(r InstanceRow) bool { return r.Status == backend.Running })
		if v == nil || err != nil {
			return err
		}
		row := v.Value
		row.Status, row.NeedsCleanup, row.Failure = backend.Canceled, true, failure
		ok, err := b.Instances.Update(x, v, db.NoKeyUpdate, row)
		if ok {
			x.Note(judge.Ended{Inst: inst, Status: backend.Canceled})
			a.AddRow(ids[i])
		}
		return err
	})
}

func (b *Base) resolve(a *Statement, args []any) {
	number, err := strconv.ParseUint(args[0].(string), 10, 64)
	if err != nil {
		panic(err)
	}
	a.Then(func(x *db.Exec) error {
		b.World.Note(world.Resolves, 0, 0, 0, 0)
		if v := b.Incarnations.Get(x, 0); (v == nil || v.Value != args[1].(string)) && b.World.Bug != cases.BugIncarnationIgnored {
			return nil
		}
		status := b.World.Server.Status(number)
		switch {
		case status == "":
			return db.ErrFuture
		case status == db.Aborted && b.World.Bug == cases.BugUnknownIsSuccess:
			status = db.Done
		}
		a.AddRow(string(status))
		return nil
	})
}

func (b *Base) incarnation(a *Statement, _ []any) {
	name := ""
	a.Then(func(x *db.Exec) error {
		if name == "" {
			name = b.World.FreshID().String()
		}
		ok, err := b.Incarnations.InsertNew(x, 0, name)
		if ok {
			a.AddRow(name)
		}
		return err
	})
	a.Then(func(x *db.Exec) error {
		if v := b.Incarnations.Get(x, 0); v != nil && len(a.Out.List) == 0 {
			a.AddRow(v.Value)
		}
		return nil
	})
}

func (b *Base) notify(a *Statement, args []any) {
	a.Notify(args[0].(string), args[1].(string))
	a.AddRow("")
}

// join is join.sql. A session stands for its engine while it lasts.
func (b *Base) join(a *Statement, args []any) { b.notifyPeers(a, args, true) }

func (b *Base) leave(a *Statement, args []any) { b.notifyPeers(a, args, false) }

// notifyPeers notes that an engine has joined or left. Its lock belongs to the connection. The shadow executes only the
// notification, because there sessions share connections.
func (b *Base) notifyPeers(a *Statement, args []any, here bool) {
	a.SQL, a.Args = notifySQL, args[2:]
	a.Then(func(x *db.Exec) error {
		b.here[x.Session().ID] = here
		return nil
	})
	b.notify(a, a.Args)
}

// peers is peers.sql. It has no shadow, where process ids differ.
func (b *Base) peers(a *Statement, args []any) {
	a.SQL = ""
	a.Then(func(*db.Exec) error {
		all, before := int32(0), int32(0)
		for _, s := range b.World.Server.Sessions() {
			if !b.here[s.ID] {
				continue
			}
			if all++; int32(s.ID) < args[2].(int32) {
				before++
			}
		}
		a.AddRow(all, before)
		return nil
	})
}

// XID returns a transaction's number as the server's text.
func XID(x *db.Exec) string { return strconv.FormatUint(x.Number(), 10) }
