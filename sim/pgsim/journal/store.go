package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"

	"github.com/google/uuid"

	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/internal/journalstore"
	"pulley/sim/cases"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

type (
	shardRow struct {
		epoch, since int64
		owner        string // empty: null
		expires      int64
		counted      bool
	}
	eventKey struct {
		shard int
		seq   int64
	}
	eventRow struct {
		epoch      int64
		kind       int16
		inst       *world.Instance
		run        graph.Run
		data       []byte
		happenedAt int64 // on the server's clock; never: null
	}
	leaseKey struct {
		shard int
		pgsim.RunKey
	}
	leaseRow struct {
		inst           *world.Instance
		token, expires int64
	}
	requestKey struct {
		shard int
		id    uuid.UUID
	}
	requestRow struct {
		isTaken, withdrawn bool
		body, answer       []byte
		applied            []int64
		sent               int64
	}
)

// Store is the journal's state on the server.
type Store struct {
	pgsim.Base
	shards   *db.Table[int, shardRow]
	owners   *db.Table[string, int64]
	events   *db.Table[eventKey, eventRow]
	leases   *db.Table[leaseKey, leaseRow]
	requests *db.Table[requestKey, requestRow]

	last journalstore.Appending // the append whose commit is being checked; nil: none yet
}

// New makes the tables on a world's server.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s := w.Server.Server
	j := &Store{
		Base:   pgsim.NewBase(w, memory),
		shards: db.NewTable[int, shardRow](s, "shards", cmp.Compare[int]),
		owners: db.NewTable[string, int64](s, "owners", cmp.Compare[string]),
		events: db.NewTable[eventKey, eventRow](s, "events", func(a, b eventKey) int {
			return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.seq, b.seq))
		}),
		leases: db.NewTable[leaseKey, leaseRow](s, "leases", func(a, b leaseKey) int {
			return cmp.Or(cmp.Compare(a.shard, b.shard), pgsim.CompareRun(a.RunKey, b.RunKey))
		}),
		requests: db.NewTable[requestKey, requestRow](s, "requests", func(a, b requestKey) int {
			return cmp.Or(cmp.Compare(a.shard, b.shard), bytes.Compare(a.id[:], b.id[:]))
		}),
	}
	j.requests.Unlogged = true
	w.Server.SetUp((&pgsim.Statement{}).Each(func() int { return w.Shards }, func(x *db.Exec, i int) error {
		return j.shards.Insert(x, i, shardRow{since: 1, counted: true})
	}))
	return j
}

func (s *Store) free(r shardRow) bool { return r.owner == "" || r.expires <= s.World.Server.Clock() }

// micros returns the time since a moment, in µs.
func (s *Store) micros(since int64) int64 { return (s.World.Server.Clock() - since) / 1000 }

// fence locks the key of a shard's row if it has the epoch, and reports in *holds whether it has.
func (s *Store) fence(a *pgsim.Statement, shard int, epoch int64) (holds *bool) {
	holds = &a.FenceHolds
	a.Then(func(x *db.Exec) error {
		if s.World.Bug == cases.BugEpochIgnored {
			*holds = true
			return nil
		}
		v, err := pgsim.LockRow(x, s.shards, shard, db.KeyShare, func(r shardRow) bool { return r.epoch == epoch })
		if *holds = v != nil; err == nil && v == nil {
			s.World.Note(world.Loses, 0, int64(shard), epoch, 0)
		}
		return err
	})
	return holds
}

// Leftovers implements world.Store.
func (s *Store) Leftovers() map[world.LeftoverRows]int {
	out := map[world.LeftoverRows]int{}
	s.events.Committed(func(_ eventKey, e eventRow) bool { s.CountLeftover(out, "events", int32(e.inst.Index)); return true })
	s.leases.Committed(func(_ leaseKey, l leaseRow) bool { s.CountLeftover(out, "leases", int32(l.inst.Index)); return true })
	s.Instances.Committed(func(index int32, r pgsim.InstanceRow) bool {
		if r.Pending {
			s.CountLeftover(out, "pending", index)
		}
		return true
	})
	return out
}

// Committed implements judge.Tables: once its append is committed, what the shard's owner keeps in memory of an instance equals
// the model (I1, I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	inst := m.Inst
	if m.NotStarted {
		return
	}
	runs, counters, values := 0, 0, 0
	there := s.last != nil && s.last.Memory(inst.ID, journalstore.Memory{
		Run: func(run graph.Run, attempt int) {
			runs++
			switch r := m.Runs[run]; {
			case r == nil:
				m.Wrong("I1", "%s is remembered, and was done, cancelled or never enqueued", m.Name(run))
			case r.Attempt != attempt:
				m.Wrong("I4", "%s is remembered as attempt %d; it is at attempt %d", m.Name(run), attempt, r.Attempt)
			}
		},
		Barrier: func(run graph.Run, required, completed, elements int, soft bool) {
			c, known := m.Counters[run]
			if counters++; !known && required == 0 && completed == 0 {
				counters--
			}
			if c.Completed != completed || c.Required != required || c.Soft != soft {
				m.Wrong("I2", "%s has %d arrivals of %d; it should have %d of %d", m.Name(run), completed, required, c.Completed, c.Required)
			}
			if elements != len(m.Elements[run]) {
				m.Wrong("I6", "%s has %d elements; it should have %d", m.Name(run), elements, len(m.Elements[run]))
			}
		},
		Value: func(slot plan.Slot, base json.RawMessage, appended int) {
			values++
			if want := m.Values[slot]; !bytes.Equal(want, base) || appended != len(m.Appended[slot]) {
				m.Wrong("I4", "variable %d at %q is remembered as %.60q and %d more; it is %.60q and %d more", slot.Var, slot.Scope, base, appended, want, len(m.Appended[slot]))
			}
		},
	})
	if there && (runs != len(m.Runs) || counters != len(m.Counters) || values != len(m.Values)) {
		m.Wrong("I2", "%d runs, %d counters and %d values are remembered; there should be %d, %d and %d", runs, counters, values,
			len(m.Runs), len(m.Counters), len(m.Values))
	}
}

func bigEndian4(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
