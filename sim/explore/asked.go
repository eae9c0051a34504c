package explore

import (
	"pulley/sim/db"
)

// asked is a statement of a design, made of steps. Each is called until it does not wait any more; what a step has
// done it must find done when it is called again.
type asked struct {
	name     string // for people
	steps    []stage
	at       int
	write    bool     // it needs room on the disk
	out      rows     // the answer
	wire     [][]byte // of a prepared statement: its row
	affected int
	holds    bool // what it is fenced by
	counts   bool // who asks wants to know how many rows were affected, and nothing else

	sql    string
	args   []any
	params [][]byte // of a prepared statement, instead of args

	few   [5]stage        // where steps begin
	alone [1]db.Statement // it, as a batch
}

// statements are the memory of a world's statements, which the next one has again.
type statements struct {
	blocks [][]asked
	used   int
}

// statementsBlock is how many are made at a time.
const statementsBlock = 64

// next makes one that is empty.
func (m *statements) next(name, sql string, args []any) *asked {
	block, at := m.used/statementsBlock, m.used%statementsBlock
	if block == len(m.blocks) {
		m.blocks = append(m.blocks, make([]asked, statementsBlock))
	}
	m.used++
	a := &m.blocks[block][at]
	a.name, a.sql, a.args = name, sql, args
	return a
}

// reset empties those that were used.
func (m *statements) reset() {
	for at := 0; at < m.used; at += statementsBlock {
		clear(m.blocks[at/statementsBlock])
	}
	m.used = 0
}

// stage is one step of a statement, or one for each of so many things.
type stage struct {
	once func(*db.Exec) error
	each func(x *db.Exec, i int) error
	many func() int // how many, when it has come to that
	i    int
}

// String names it for people.
func (a *asked) String() string { return a.name }

// NeedsRoom says whether it needs room on the disk.
func (a *asked) NeedsRoom() bool { return a.write }

// done says whether the server has done all of it.
func (a *asked) done() bool { return a.at == len(a.steps) }

// batch gives the statement alone.
func (a *asked) batch() []db.Statement {
	a.alone[0] = a
	return a.alone[:]
}

// Run implements db.Statement.
func (a *asked) Run(x *db.Exec) error {
	for ; a.at < len(a.steps); a.at++ {
		if err := a.steps[a.at].run(x); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) run(x *db.Exec) error {
	if s.once != nil {
		return s.once(x)
	}
	for ; s.i < s.many(); s.i++ {
		if err := s.each(x, s.i); err != nil {
			return err
		}
	}
	return nil
}

func (a *asked) add(s stage) *asked {
	if a.steps == nil {
		a.steps = a.few[:0]
	}
	a.steps = append(a.steps, s)
	return a
}

// then adds a step.
func (a *asked) then(step func(*db.Exec) error) *asked { return a.add(stage{once: step}) }

// each adds a step for each of so many things, whose number is known when it comes to that.
func (a *asked) each(n func() int, do func(x *db.Exec, i int) error) *asked {
	return a.add(stage{each: do, many: n})
}

// notify has those who listen hear of the commit.
func (a *asked) notify(channel, payload string) *asked {
	return a.then(func(x *db.Exec) error {
		x.Note(notice{channel, payload})
		return nil
	})
}

// affect counts a row if it was affected.
func (a *asked) affect(ok bool) {
	if ok {
		a.affected++
	}
}

// give adds a row to the answer.
func (a *asked) give(row ...any) { a.out.list = append(a.out.list, row) }

// remove is DELETE … WHERE of one row.
func remove[K, V any](x *db.Exec, t *db.Table[K, V], v *db.Version[K, V], holds func(V) bool) (bool, error) {
	v, err := t.Lock(x, v, db.ForUpdate, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return false, err
	}
	t.Remove(x, v)
	return true, nil
}

// lockOne locks a row that the statement sees and gives its newest version, if a condition holds for both.
func lockOne[K, V any](x *db.Exec, t *db.Table[K, V], key K, mode db.Mode, holds func(V) bool) (*db.Version[K, V], error) {
	v := t.Get(x, key)
	if v == nil || !holds(v.Value) {
		return nil, nil
	}
	v, err := t.Lock(x, v, mode, db.Wait)
	if err != nil || v == nil || !holds(v.Value) {
		return nil, err
	}
	return v, nil
}
