package eager

import (
	"encoding/json"

	"pulley/engine/backend/postgres/eager"
	"pulley/engine/graph"
	"pulley/sim/db"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// unknownCount stands for a null count.
const unknownCount = -1

type nodeRow struct {
	pgsim.Queued        // Due never: null
	path                string
	required, satisfied int32
	soft                bool
	queued, completed   bool
	owner               string // empty: null
	args                string // empty: null
}

// waiting has the initial columns of a row.
var waiting = pgsim.Queued{Due: pgsim.Never, Attempt: 1}

// Run implements pgsim.QueueRow. The key's path is a place, so the row's own path is used.
func (r *nodeRow) Run(key pgsim.RunKey) graph.Run { return pgsim.RunOf(key.Node, r.path) }

// Ready implements pgsim.QueueRow. Its condition is that of the index of ready nodes.
func (r *nodeRow) Ready() bool {
	return r.required != unknownCount && r.satisfied >= r.required && !r.completed && r.Token != 0
}

func (r *nodeRow) Leased() bool { return r.queued && !r.completed }

func (r *nodeRow) Lease(owner any) { r.queued, r.owner = true, owner.(string) }

func (r *nodeRow) Free() { r.queued, r.owner = false, "" }

func (r nodeRow) open() bool { return r.Token != 0 && !r.completed }

func (r nodeRow) check(pathNull bool) error {
	switch {
	case pathNull:
		return db.ErrNull
	case r.required != unknownCount && r.satisfied > r.required:
		return db.CheckViolation("readiness_overflow")
	}
	return nil
}

// Store is eager's state on the server.
type Store struct {
	pgsim.Base
	nodes   *pgsim.Queue[nodeRow, *nodeRow]            // by place
	pending *db.Table[pgsim.ValueKey, json.RawMessage] // by node
	context *db.Table[pgsim.ValueKey, json.RawMessage] // by variable
}

// New makes the tables on a world's server.
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

// Open implements world.Store: it opens a real eager.Backend.
func (s *Store) Open(h *world.Host) (world.Backend, error) {
	return eager.On(pgsim.NewStore(h, s.statement)), nil
}

func (s *Store) statement(on *pgsim.Conn, sql string, args []any) *pgsim.Statement {
	if sql == eagerApplySQL {
		a := s.Memory.Next("apply", sql, args)
		s.apply(a, args, on.Events.([]eager.Applied))
		return a
	}
	return texts.Of(s, sql, args)
}
