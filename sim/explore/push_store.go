package explore

import (
	"cmp"
	"encoding/json"
	"math"
	"strings"
	"sync"
	"time"

	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/sim/db"
)

// The tables of push.
type (
	queued struct {
		token, due     int64 // due on the server's clock
		attempt, owner int32 // of owners; zero: null
		args           string
		place          int64 // in the table: later versions stand behind earlier ones
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

func compareCommit(a, b commitKey) int {
	return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.backend, b.backend), cmp.Compare(a.slot, b.slot))
}

// neverReached is the count of a barrier that nobody has opened.
const neverReached = math.MaxInt32

// pushStore is what is on the server, for push.
type pushStore struct {
	base
	queue     *db.Table[runKey, queued]
	readiness *db.Table[runKey, readiness]
	inbox     *db.Table[valueKey, json.RawMessage] // by variable
	elements  *db.Table[valueKey, collected]       // by node, and the first place
	commits   *db.Table[commitKey, commitRow]
	owners    *db.Table[string, int32]
	ownerIDs  db.Sequence
	placed    int64                // the last place in the queue
	marking   map[commitKey]uint64 // the number of the last transaction that is to leave its mark in a place
}

// newPushStore makes the tables, on the server of a world.
func newPushStore(w *world, memory *statements) *pushStore {
	s := w.server.Server
	return &pushStore{
		base: newBase(w, memory), marking: map[commitKey]uint64{},
		queue:     db.NewTable[runKey, queued](s, "queue", compareRun),
		readiness: db.NewTable[runKey, readiness](s, "readiness", compareRun),
		inbox:     db.NewTable[valueKey, json.RawMessage](s, "inbox", compareValue),
		elements:  db.NewTable[valueKey, collected](s, "elements", compareValue),
		commits:   db.NewTable[commitKey, commitRow](s, "commits", compareCommit),
		owners:    db.NewTable[string, int32](s, "owners", strings.Compare),
	}
}

// crashed implements store.
func (s *pushStore) crashed() {
	s.base.crashed()
	s.ownerIDs.Crash()
	clear(s.marking)
}

// occupy wants the place of a mark to belong to one transaction at a time that has completed something: the server may still be
// at one whose connection was lost, and what that has done would have no mark (D7).
func (s *pushStore) occupy(x *db.Exec, place commitKey) {
	before, now := s.marking[place], x.Number()
	if before != 0 && before != now && s.w.server.Status(before) == db.InProgress {
		s.w.violate("D7", "a transaction is to leave its mark in place %d of shard %d, and so is another that is under way", place.slot, place.shard)
	}
	s.marking[place] = now
}

// open implements store: a push.Backend, the real code.
func (s *pushStore) open(h *host) (hosted, error) {
	return push.On(newPgStore(h, s.statement), push.Config{
		MarksKept: time.Duration(s.w.marksKept()),
		Applies:   func(on postgres.Conn, events []push.Applied) { on.(*pgConn).stands = events },
	}), nil
}

// cutApply is apply.sql without the parts that some events do not need.
type cutApply struct {
	parts      map[string]bool
	parameters []int // the places, from 0, of those that it takes
}

// pushParts are the parts that can be left out.
var pushParts = [...]string{"completions", "retries", "instances", "values", "elements", "arrivals", "runs", "ends"}

// pushApplies are all texts that apply.sql is sent with.
var pushApplies = sync.OnceValue(func() map[string]cutApply {
	text, err := push.SQL("apply")
	if err != nil {
		panic(err) // the file is part of the program
	}
	all := map[string]cutApply{}
	for set := range 1 << len(pushParts) {
		parts := map[string]bool{}
		for i, part := range pushParts {
			parts[part] = set>>i&1 == 1
		}
		if parts["retries"] && !parts["completions"] {
			continue // they are a part of that one
		}
		cut, parameters := postgres.CutDown(text, func(part string) bool { return parts[part] })
		all[cut] = cutApply{parts, parameters}
	}
	return all
})

// statement is what a text stands for.
func (s *pushStore) statement(on *pgConn, sql string, args []any) *asked {
	if cut, ok := pushApplies()[sql]; ok {
		a := s.memory.next("apply", sql, args)
		s.apply(on, a, cut)
		return a
	}
	return statementOf(s, &s.base, pushTexts, sql, args)
}

// leftovers implements store.
func (s *pushStore) leftovers() map[string]int {
	out := map[string]int{}
	s.queue.Committed(func(k runKey, _ queued) bool { s.left(out, "queue", k.inst); return true })
	s.readiness.Committed(func(k runKey, _ readiness) bool { s.left(out, "readiness", k.inst); return true })
	s.inbox.Committed(func(k valueKey, _ json.RawMessage) bool { s.left(out, "inbox", k.inst); return true })
	s.elements.Committed(func(k valueKey, _ collected) bool { s.left(out, "elements", k.inst); return true })
	return out
}
