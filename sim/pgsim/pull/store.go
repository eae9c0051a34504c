package pull

import (
	"cmp"
	"strings"

	"pulley/engine/backend/postgres/pull"
	"pulley/sim/db"
	"pulley/sim/judge"
	"pulley/sim/pgsim"
	"pulley/sim/world"
)

// The tables of pull.
type (
	ledgerRow struct {
		inst            *world.Instance
		status          ledgerStatus
		due             int64 // on the server's clock
		token           int64
		attempt         int
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
		inst              *world.Instance
		required, reached int32
		watched           bool
		args              *string
		wait              *int64 // in µs
		finish            *string
	}
	inboxRow struct {
		inst  *world.Instance
		value string
	}
)

// ledgerStatus is ledger.status.
type ledgerStatus string

const (
	ledgerQueued    ledgerStatus = "queued"
	ledgerLeased    ledgerStatus = "leased"
	ledgerCompleted ledgerStatus = "completed"
)

// Store is what is on the server.
type Store struct {
	pgsim.Base
	scan     pull.Scan
	cycles   *db.Table[int, struct{}] // what the advisory locks stand for
	ledger   *db.Table[pgsim.RunKey, ledgerRow]
	arrivals *db.Table[arrivalKey, arrivalRow]
	inbox    *db.Table[pgsim.ValueKey, inboxRow]

	leaves map[uint64]bool // transactions that leave their cycle to another, which is a bug
}

// New makes the tables, on the server of a world.
func New(w *world.World, memory *pgsim.Memory) *Store {
	s, scan := w.Server.Server, pull.ScanApp
	if w.Backend == "pull:scan=sql" {
		scan = pull.ScanSQL
	}
	p := &Store{
		Base:   pgsim.NewBase(w, memory),
		scan:   scan,
		leaves: map[uint64]bool{},
		cycles: db.NewTable[int, struct{}](s, "cycles", cmp.Compare[int]),
		ledger: db.NewTable[pgsim.RunKey, ledgerRow](s, "ledger", pgsim.CompareRun),
		arrivals: db.NewTable[arrivalKey, arrivalRow](s, "arrivals", func(a, b arrivalKey) int {
			return cmp.Or(pgsim.CompareRun(a.RunKey, b.RunKey), strings.Compare(a.source, b.source))
		}),
		inbox: db.NewTable[pgsim.ValueKey, inboxRow](s, "inbox", pgsim.CompareValue),
	}
	w.Server.SetUp((&pgsim.Statement{}).Each(func() int { return w.Shards }, func(x *db.Exec, i int) error {
		return p.cycles.Insert(x, i, struct{}{})
	}))
	return p
}

// Open implements store: a pull.Backend, the real code.
func (s *Store) Open(h *world.Host) (world.Backend, error) {
	store := pgsim.NewStore(h, func(_ *pgsim.Conn, sql string, args []any) *pgsim.Statement {
		return pgsim.StatementOf(s, &s.Base, texts, sql, args)
	})
	return pull.On(store, pull.Config{Scan: s.scan}), nil
}

// Leftovers implements store.
func (s *Store) Leftovers() map[string]int {
	out := map[string]int{}
	s.ledger.Committed(func(k pgsim.RunKey, _ ledgerRow) bool { s.Left(out, "ledger", k.Inst); return true })
	s.arrivals.Committed(func(k arrivalKey, _ arrivalRow) bool { s.Left(out, "arrivals", k.Inst); return true })
	s.inbox.Committed(func(k pgsim.ValueKey, _ inboxRow) bool { s.Left(out, "inbox", k.Inst); return true })
	return out
}

// Committed implements store: what the ledger has of an instance that runs is what its model has (I1, I2, I4), and of
// scan=sql what stands beside it (I2, I4, I6).
func (s *Store) Committed(m *judge.Model) {
	inst := m.Inst
	if m.End != nil || !inst.Taken {
		return
	}
	id, open := int32(inst.Index), 0
	s.ledger.CommittedFrom(pgsim.RunKey{Inst: id, Node: pgsim.FirstID}, func(k pgsim.RunKey, row ledgerRow) bool {
		if k.Inst != id {
			return false
		}
		r := m.Runs[k.Run()]
		switch {
		case row.status == ledgerCompleted && row.completed == nil: // a barrier that has opened
		case row.status == ledgerCompleted && (r != nil || !m.Applied[row.token]):
			m.Wrong("I3", "%s stands in the ledger as completed with token %d, and was not", m.Name(k.Run()), row.token)
		case row.status == ledgerCompleted:
		case r == nil:
			m.Wrong("I10", "%s stands in the ledger, and was done, cancelled or never enqueued", m.Name(k.Run()))
		case r.Attempt != row.attempt:
			m.Wrong("I4", "%s stands in the ledger as attempt %d; it is at attempt %d", m.Name(k.Run()), row.attempt, r.Attempt)
		default:
			open++
		}
		return true
	})
	if open != len(m.Runs) {
		m.Wrong("I2", "%d node runs stand in the ledger and are to be run; there should be %d: %s", open, len(m.Runs), m.Describe())
	}
	if s.scan == pull.ScanSQL {
		s.compareScope(m, id)
	}
}
