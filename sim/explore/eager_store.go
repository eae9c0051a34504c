package explore

import (
	"encoding/json"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/eager"
	"pulley/sim/db"
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

// eagerStore is what is on the server, for eager.
type eagerStore struct {
	base
	nodes   *db.Table[runKey, nodeRow]           // by place
	pending *db.Table[valueKey, json.RawMessage] // by node
	context *db.Table[valueKey, json.RawMessage] // by variable
}

// newEagerStore makes the tables, on the server of a world.
func newEagerStore(w *world, memory *statements) *eagerStore {
	s := w.server.Server
	return &eagerStore{
		base:    newBase(w, memory),
		nodes:   db.NewTable[runKey, nodeRow](s, "node_ready_state", compareRun),
		pending: db.NewTable[valueKey, json.RawMessage](s, "node_pending_context", compareValue),
		context: db.NewTable[valueKey, json.RawMessage](s, "instance_eval_context", compareValue),
	}
}

// open implements store: an eager.Backend, the real code.
func (s *eagerStore) open(h *host) (hosted, error) {
	store := newPgStore(h, s.statement)
	return eager.On(store, eager.Config{Applies: func(on postgres.Conn, events []eager.Applied) {
		on.(*pgConn).stands = events
	}}), nil
}

// statement is what a text stands for.
func (s *eagerStore) statement(on *pgConn, sql string, args []any) *asked {
	if sql == eagerApplySQL {
		a := s.memory.next("apply", sql, args)
		s.apply(a, args, on.stands.([]eager.Applied))
		return a
	}
	return statementOf(s, &s.base, eagerTexts, sql, args)
}

// leftovers implements store.
func (s *eagerStore) leftovers() map[string]int {
	out := map[string]int{}
	s.nodes.Committed(func(k runKey, _ nodeRow) bool { s.left(out, "node_ready_state", k.inst); return true })
	s.pending.Committed(func(k valueKey, _ json.RawMessage) bool { s.left(out, "node_pending_context", k.inst); return true })
	s.context.Committed(func(k valueKey, _ json.RawMessage) bool { s.left(out, "instance_eval_context", k.inst); return true })
	return out
}
