package pgsim

import (
	"pulley/sim/db"
	"pulley/sim/world"
)

// Statement is a statement of a design, made of steps. Each is called until it does not wait any more; what a step has
// done it must find done when it is called again.
type Statement struct {
	Name       string // for people
	steps      []stage
	at         int
	Write      bool     // it needs room on the disk
	Out        Rows     // the answer
	Wire       [][]byte // of a prepared statement: its row
	Affected   int
	FenceHolds bool // what it is fenced by
	Counts     bool // the design asks for the number of affected rows, and nothing else

	SQL    string
	Args   []any
	Params [][]byte // of a prepared statement, instead of args

	alone [1]db.Statement // it, as a batch
}

// Memory are the memory of a world's statements, which the next one has again.
type Memory struct {
	blocks [][]Statement
	used   int
}

// statementsBlock is how many are made at a time.
const statementsBlock = 64

// stepsUsual is how many steps most statements have at most.
const stepsUsual = 4

// Next makes one that is empty.
func (m *Memory) Next(name, sql string, args []any) *Statement {
	block, at := m.used/statementsBlock, m.used%statementsBlock
	if block == len(m.blocks) {
		m.blocks = append(m.blocks, make([]Statement, statementsBlock))
	}
	m.used++
	a := &m.blocks[block][at]
	a.Name, a.SQL, a.Args = name, sql, args
	return a
}

// reset empties those that were used. They keep the memory of their steps and of their rows.
func (m *Memory) reset() {
	for at := range m.used {
		a := &m.blocks[at/statementsBlock][at%statementsBlock]
		clear(a.steps)
		clear(a.Out.List)
		*a = Statement{steps: a.steps[:0], Out: Rows{List: a.Out.List[:0]}}
	}
	m.used = 0
}

// stage is one step of a statement, or one for each of so many things.
type stage struct {
	once  func(*db.Exec) error
	each  func(x *db.Exec, i int) error
	count func() int // how many, when it has come to that
	i     int
}

// String names it for people.
func (a *Statement) String() string { return a.Name }

// NeedsDisk says whether it needs room on the disk.
func (a *Statement) NeedsDisk() bool { return a.Write }

// Done says whether the server has done all of it.
func (a *Statement) Done() bool { return a.at == len(a.steps) }

// Batch gives the statement alone.
func (a *Statement) Batch() []db.Statement {
	a.alone[0] = a
	return a.alone[:]
}

// Run implements db.Statement.
func (a *Statement) Run(x *db.Exec) error {
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
	for ; s.i < s.count(); s.i++ {
		if err := s.each(x, s.i); err != nil {
			return err
		}
	}
	return nil
}

func (a *Statement) add(s stage) *Statement {
	if a.steps == nil {
		a.steps = make([]stage, 0, stepsUsual)
	}
	a.steps = append(a.steps, s)
	return a
}

// Then adds a step.
func (a *Statement) Then(step func(*db.Exec) error) *Statement { return a.add(stage{once: step}) }

// Each adds a step for each of so many things, whose number is known when it comes to that.
func (a *Statement) Each(n func() int, do func(x *db.Exec, i int) error) *Statement {
	return a.add(stage{each: do, count: n})
}

// Notify has those who listen hear of the commit.
func (a *Statement) Notify(channel, payload string) *Statement {
	return a.Then(func(x *db.Exec) error {
		x.Note(world.Notice{Channel: channel, Payload: payload})
		return nil
	})
}

// Affect counts a row if it was affected.
func (a *Statement) Affect(ok bool) {
	if ok {
		a.Affected++
	}
}

// AddRow adds a row to the answer.
func (a *Statement) AddRow(row ...any) { a.Out.List = append(a.Out.List, row) }
