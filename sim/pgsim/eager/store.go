package eager

import (
	"encoding/json"

	"pulley/engine/backend/postgres/eager"
	"pulley/engine/graph"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// unknownCount is a count that is null.
const unknownCount = -1

// nodeRow is a row of node_ready_state.
type nodeRow struct {
	pgsim.Queued        // due never: null
	path                string
	required, satisfied int32
	soft                bool
	queued, completed   bool
	owner               string // empty: null
	args                string // empty: null
}

// waiting are the columns of a row that nothing has come to.
var waiting = pgsim.Queued{Due: pgsim.Never, Attempt: 1}

// Run implements pgsim.QueueRow: the key has a place.
func (r *nodeRow) Run(key pgsim.RunKey) graph.Run { return pgsim.RunOf(key.Node, r.path) }

// Ready implements pgsim.QueueRow: it is the condition of the index of ready nodes.
func (r *nodeRow) Ready() bool {
	return r.required != unknownCount && r.satisfied >= r.required && !r.completed && r.Token != 0
}

// Leased implements pgsim.QueueRow.
func (r *nodeRow) Leased() bool { return r.queued && !r.completed }

// Lease implements pgsim.QueueRow.
func (r *nodeRow) Lease(owner any) { r.queued, r.owner = true, owner.(string) }

// Free implements pgsim.QueueRow.
func (r *nodeRow) Free() { r.queued, r.owner = false, "" }

// open says whether the run of the row is ready or at work.
func (r nodeRow) open() bool { return r.Token != 0 && !r.completed }

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
	nodes   *pgsim.Queue[nodeRow, *nodeRow]            // by place
	pending *db.Table[pgsim.ValueKey, json.RawMessage] // by node
	context *db.Table[pgsim.ValueKey, json.RawMessage] // by variable
}

// New makes the tables, on the server of a world.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s := &Store{Base: pgsim.NewBase(w, memory)}
	s.nodes = pgsim.NewQueue[nodeRow](&s.Base, "node_ready_state")
	s.nodes.ByToken, s.nodes.Arguments = true, arguments
	s.pending = pgsim.NewTable[pgsim.ValueKey, json.RawMessage](&s.Base, "node_pending_context", pgsim.CompareValue)
	s.context = pgsim.NewTable[pgsim.ValueKey, json.RawMessage](&s.Base, "instance_eval_context", pgsim.CompareValue)
	return s
}

func arguments(_ *db.Exec, _ pgsim.RunKey, r *nodeRow) []byte {
	if r.args == "" {
		return nil
	}
	return []byte(r.args)
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
	return texts.Of(s, sql, args)
}
