package pull

import (
	"cmp"
	"encoding/json"
	"strings"

	"pulley/engine/backend/postgres/pull"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

type (
	ledgerRow struct {
		pgsim.Queued
		status          ledgerStatus
		owner           string
		args            *string
		done            int64 // zero: null
		result, failure *string
		completed       *judge.Event // the note of its end
	}
	arrivalKey struct {
		pgsim.RunKey
		source string
	}
	arrivalRow struct {
		required, reachedCount int32
		watched                bool
		args                   *string
		wait                   *int64 // in µs
		finish                 *string
	}
)

type ledgerStatus string

const (
	ledgerQueued    ledgerStatus = "queued"
	ledgerLeased    ledgerStatus = "leased"
	ledgerCompleted ledgerStatus = "completed"
)

func (r *ledgerRow) Ready() bool { return r.status != ledgerCompleted }

func (r *ledgerRow) Leased() bool { return r.status == ledgerLeased }

func (r *ledgerRow) Lease(owner any) { r.status, r.owner = ledgerLeased, owner.(string) }

func (r *ledgerRow) Free() { r.status, r.owner = ledgerQueued, "" }

func (k arrivalKey) First(inst int32) arrivalKey { return arrivalKey{RunKey: k.RunKey.First(inst)} }

func compareArrival(a, b arrivalKey) int {
	if c := pgsim.CompareRun(a.RunKey, b.RunKey); c != 0 {
		return c
	}
	return strings.Compare(a.source, b.source)
}

// Store is pull's state on the server.
type Store struct {
	pgsim.Base
	scan      pull.Scan
	scanLocks *db.Table[int, struct{}] // stand for the advisory locks
	ledger    *pgsim.Queue[ledgerRow, *ledgerRow]
	arrivals  *db.Table[arrivalKey, arrivalRow]
	inbox     *db.Table[pgsim.ValueKey, json.RawMessage] // by variable

	leaves map[uint64]bool // transactions that skip their scan; a planted bug
}

// New makes the tables on a world's server.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s := &Store{Base: pgsim.NewBase(w, memory), scan: pull.ScanApp, leaves: map[uint64]bool{}}
	if w.Backend == "pull:scan=sql" {
		s.scan = pull.ScanSQL
	}
	s.scanLocks = db.NewTable[int, struct{}](w.Server.Server, "cycles", cmp.Compare[int])
	s.ledger = pgsim.NewQueue[ledgerRow](&s.Base, "ledger")
	s.ledger.ByToken, s.ledger.Arguments = true, s.arguments
	s.ledger.PutFirst = func(x *db.Exec, inst *world.Instance, r *ledgerRow) {
		x.Note(judge.Step{What: world.PutsFirst, Shard: int64(inst.Index), Epoch: r.Token})
	}
	s.arrivals = pgsim.NewTable[arrivalKey, arrivalRow](&s.Base, "arrivals", compareArrival)
	s.inbox = pgsim.NewTable[pgsim.ValueKey, json.RawMessage](&s.Base, "inbox", pgsim.CompareValue)
	w.Server.SetUp((&pgsim.Statement{}).Each(func() int { return w.Shards }, func(x *db.Exec, i int) error {
		return s.scanLocks.Insert(x, i, struct{}{})
	}))
	return s
}

// Open implements world.Store: it opens a real pull.Backend.
func (s *Store) Open(h *world.Host) (world.Backend, error) {
	store := pgsim.NewStore(h, func(_ *pgsim.Conn, sql string, args []any) *pgsim.Statement {
		return texts.Of(s, sql, args)
	})
	return pull.On(store, pull.Config{Scan: s.scan}), nil
}

// Committed implements judge.Tables: the ledger of a running instance equals its model (I1, I2, I4); with scan=sql, so do the
// stored values (I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	id, open := int32(m.Inst.Index), 0
	pgsim.CommittedOf(s.ledger.Table, id, func(k pgsim.RunKey, row ledgerRow) {
		r := m.Runs[k.Run()]
		switch {
		case row.status == ledgerCompleted && row.completed == nil: // an opened barrier
		case row.status == ledgerCompleted && (r != nil || !m.Applied[row.Token]):
			m.Wrong("I3", "%s stands in the ledger as completed with token %d, and was not", m.Name(k.Run()), row.Token)
		case row.status == ledgerCompleted:
		case r == nil:
			m.Wrong("I10", "%s stands in the ledger, and was done, cancelled or never enqueued", m.Name(k.Run()))
		case r.Attempt != int(row.Attempt):
			m.Wrong("I4", "%s stands in the ledger as attempt %d; it is at attempt %d", m.Name(k.Run()), row.Attempt, r.Attempt)
		default:
			open++
		}
	})
	if open != len(m.Runs) {
		m.Wrong("I2", "%d node runs stand in the ledger and are to be run; there should be %d: %s", open, len(m.Runs), m.Describe())
	}
	if s.scan == pull.ScanSQL {
		s.compareScope(m, id)
	}
}
