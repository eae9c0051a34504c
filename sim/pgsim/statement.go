package pgsim

import (
	"pulley/sim/db"
	"pulley/sim/world"
)

// Statement is a design's statement, made of steps. A step that waits is called again and must find what it has done before.
type Statement struct {
	Name       string // for people
	steps      []stage
	at         int
	Write      bool
	Out        Rows
	Wire       [][]byte // of a prepared statement: its row
	Affected   int
	FenceHolds bool // whether its fence holds
	Counts     bool // the design reads only the number of affected rows

	SQL    string
	Args   []any
	Params [][]byte // of a prepared statement, instead of Args

	alone [1]db.Statement
}

// Memory is the memory of a world's statements; the next world reuses it.
type Memory struct {
	blocks [][]Statement
	used   int
}

const statementsBlock = 64

const stepsUsual = 4

// Next returns an empty statement.
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

// reset empties the used statements; they keep the memory of their steps and rows.
func (m *Memory) reset() {
	for at := range m.used {
		a := &m.blocks[at/statementsBlock][at%statementsBlock]
		clear(a.steps)
		clear(a.Out.List)
		*a = Statement{steps: a.steps[:0], Out: Rows{List: a.Out.List[:0]}}
	}
	m.used = 0
}

// stage is a step, or one step for each of several items.
type stage struct {
	once  func(*db.Exec) error
	each  func(x *db.Exec, i int) error
	count func() int // called when the stage begins
	i     int
}

// String returns the name.
func (a *Statement) String() string { return a.Name }

// NeedsDisk reports whether the statement needs disk space.
func (a *Statement) NeedsDisk() bool { return a.Write }

// Done reports whether the server has executed all of it.
func (a *Statement) Done() bool { return a.at == len(a.steps) }

// Batch returns the statement as a batch.
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

// Each adds a step for each of n items; n is called when the stage begins.
func (a *Statement) Each(n func() int, do func(x *db.Exec, i int) error) *Statement {
	return a.add(stage{each: do, count: n})
}

// Notify sends a notification with the commit.
func (a *Statement) Notify(channel, payload string) *Statement {
	return a.Then(func(x *db.Exec) error {
		x.Note(world.Notice{Channel: channel, Payload: payload})
		return nil
	})
}

// Affect counts an affected row.
func (a *Statement) Affect(ok bool) {
	if ok {
		a.Affected++
	}
}

// AddRow adds a row to the result.
func (a *Statement) AddRow(row ...any) { a.Out.List = append(a.Out.List, row) }
