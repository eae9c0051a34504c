package eager

import (
	"encoding/json"

	"pulley/engine/backend/postgres/eager"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// unknownCount is a count that is null.
const unknownCount = -1

// nodeRow is a row of node_ready_state.
type nodeRow struct {
	path                string
	required, satisfied int32
	soft                bool
	queued, completed   bool
	due                 int64 // on the server's clock; never: null
	token               int64 // zero: null
	attempt             int32
	owner               string // empty: null
	args                string // empty: null
}

// ready is the condition of the index of ready nodes.
func (r nodeRow) ready() bool {
	return r.required != unknownCount && r.satisfied >= r.required && !r.completed && r.token != 0
}

// open says whether the run of the row is ready or at work.
func (r nodeRow) open() bool { return r.token != 0 && !r.completed }

// check is what the table refuses.
func (r nodeRow) check(pathNull bool) error {
	switch {
	case pathNull:
		return db.ErrNull
	case r.required != unknownCount && r.satisfied > r.required:
		return db.CheckViolation("readiness_overflow")
	}
	return nil
}

// Store is what is on the server, for eager.
type Store struct {
	pgsim.Base
	nodes   *db.Table[pgsim.RunKey, nodeRow]           // by place
	pending *db.Table[pgsim.ValueKey, json.RawMessage] // by node
	context *db.Table[pgsim.ValueKey, json.RawMessage] // by variable
}

// New makes the tables, on the server of a world.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s := w.Server.Server
	return &Store{
		Base:    pgsim.NewBase(w, memory),
		nodes:   db.NewTable[pgsim.RunKey, nodeRow](s, "node_ready_state", pgsim.CompareRun),
		pending: db.NewTable[pgsim.ValueKey, json.RawMessage](s, "node_pending_context", pgsim.CompareValue),
		context: db.NewTable[pgsim.ValueKey, json.RawMessage](s, "instance_eval_context", pgsim.CompareValue),
	}
}

// Open implements store: an eager.Backend, the real code.
func (s *Store) Open(h *world.Host) (world.Backend, error) {
	return eager.On(pgsim.NewStore(h, s.statement)), nil
}

// statement is what a text stands for.
func (s *Store) statement(on *pgsim.Conn, sql string, args []any) *pgsim.Statement {
	if sql == eagerApplySQL {
		a := s.Memory.Next("apply", sql, args)
		s.apply(a, args, on.Events.([]eager.Applied))
		return a
	}
	return pgsim.StatementOf(s, &s.Base, texts, sql, args)
}

// Leftovers implements store.
func (s *Store) Leftovers() map[string]int {
	out := map[string]int{}
	s.nodes.Committed(func(k pgsim.RunKey, _ nodeRow) bool { s.Left(out, "node_ready_state", k.Inst); return true })
	s.pending.Committed(func(k pgsim.ValueKey, _ json.RawMessage) bool {
		s.Left(out, "node_pending_context", k.Inst)
		return true
	})
	s.context.Committed(func(k pgsim.ValueKey, _ json.RawMessage) bool {
		s.Left(out, "instance_eval_context", k.Inst)
		return true
	})
	return out
}
