package push

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"sync"

	"pulley/engine/backend/postgres/push"
	"pulley/internal/pgstore"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

type (
	queued struct {
		pgsim.Queued
		owner    int32 // in table owners; zero: null
		args     string
		workflow int32 // zero: null
	}
	readiness struct {
		required, completed int32
		soft                bool
	}
	collected struct {
		places []int32
		vals   [][]byte
	}
	commitKey struct {
		shard   int
		backend int64
		slot    int32
	}
	commitRow struct {
		number int64
		stale  []int32
		at     int64 // on the server's clock
	}
)

func (q *queued) Ready() bool { return true }

func (q *queued) Leased() bool { return q.owner != 0 }

func (q *queued) Lease(owner any) { q.owner = owner.(int32) }

func (q *queued) Free() { q.owner = 0 }

func compareCommit(a, b commitKey) int {
	return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.backend, b.backend), cmp.Compare(a.slot, b.slot))
}

// onlyWorkflow is the number of a world's workflow.
const onlyWorkflow = 1

// unopenedCount is the required count of a barrier that is not open yet.
const unopenedCount = math.MaxInt32

// Store is push's state on the server.
type Store struct {
	pgsim.Base
	queue       *pgsim.Queue[queued, *queued]
	readiness   *db.Table[pgsim.RunKey, readiness]
	inbox       *db.Table[pgsim.ValueKey, json.RawMessage] // by variable
	elements    *db.Table[pgsim.ValueKey, collected]       // by node and first place
	commits     *db.Table[commitKey, commitRow]
	owners      *db.Table[string, int32]
	ownerIDs    db.Sequence
	slotWriters map[commitKey]uint64 // the last transaction that is to write each commit slot
}

// New makes the tables on a world's server.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s := &Store{Base: pgsim.NewBase(w, memory), slotWriters: map[commitKey]uint64{}}
	s.queue = pgsim.NewQueue[queued](&s.Base, "queue")
	s.queue.Arguments = func(_ *db.Exec, _ pgsim.RunKey, q *queued) []byte { return []byte(q.args) }
	s.queue.PutFirst = func(x *db.Exec, inst *world.Instance, q *queued) {
		x.Note(judge.Step{What: world.PutsFirst, Shard: int64(inst.Shard), Epoch: q.Token})
	}
	s.readiness = pgsim.NewTable[pgsim.RunKey, readiness](&s.Base, "readiness", pgsim.CompareRun)
	s.inbox = pgsim.NewTable[pgsim.ValueKey, json.RawMessage](&s.Base, "inbox", pgsim.CompareValue)
	s.elements = pgsim.NewTable[pgsim.ValueKey, collected](&s.Base, "elements", pgsim.CompareValue)
	s.commits = db.NewTable[commitKey, commitRow](w.Server.Server, "commits", compareCommit)
	s.owners = db.NewTable[string, int32](w.Server.Server, "owners", strings.Compare)
	return s
}

// Crashed implements world.Store.
func (s *Store) Crashed() {
	s.Base.Crashed()
	s.ownerIDs.Crash()
	clear(s.slotWriters)
}

// occupy checks that a commit slot belongs to one transaction at a time: the server may still execute a transaction whose
// connection was lost, and its slot must not be overwritten (D7).
func (s *Store) occupy(x *db.Exec, place commitKey) {
	before, now := s.slotWriters[place], x.Number()
	if before != 0 && before != now && s.World.Server.Status(before) == db.InProgress {
		s.World.Violate("D7", "a transaction is to leave its mark in place %d of shard %d, and so is another that is under way", place.slot, place.shard)
	}
	s.slotWriters[place] = now
}

// Open implements world.Store: it opens a real push.Backend.
func (s *Store) Open(h *world.Host) (world.Backend, error) {
	return push.On(pgsim.NewStore(h, s.statement)), nil
}

// cutApply is apply.sql without the parts that some events do not need.
type cutApply struct {
	parts map[string]bool
	place [applyParameters + 1]int // by parameter number in the file: its position in the cut-down statement, from 1; zero: not taken
}

const applyParameters = 52

// optional are the parts that can be left out.
var optional = [...]string{"completions", "retries", "instances", "values", "elements", "arrivals", "runs", "ends", "turns"}

// applies returns all cut-down texts of apply.sql.
var applies = sync.OnceValue(func() pgsim.Texts[*cutApply] {
	text, err := push.SQL("apply")
	if err != nil {
		panic(err)
	}
	all := pgsim.Texts[*cutApply]{}
	for set := range 1 << len(optional) {
		parts := map[string]bool{}
		for i, part := range optional {
			parts[part] = set>>i&1 == 1
		}
		if parts["retries"] && !parts["completions"] {
			continue // retries are part of completions
		}
		if parts["turns"] && !parts["runs"] {
			continue // and turns of runs
		}
		sql, parameters := pgstore.CutDown(text, func(part string) bool { return parts[part] })
		cut := &cutApply{parts: parts}
		for i, place := range parameters {
			cut.place[place+1] = i + 1
		}
		all.Add(sql, cut)
	}
	return all
})

func (s *Store) statement(on *pgsim.Conn, sql string, args []any) *pgsim.Statement {
	if cut, ok := applies().Find(sql); ok {
		a := s.Memory.Next("apply", sql, args)
		s.apply(on, a, cut)
		return a
	}
	return texts.Of(s, sql, args)
}
