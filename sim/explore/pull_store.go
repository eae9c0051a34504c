package explore

import (
	"cmp"
	"strings"

	"pulley/engine/backend/postgres/pull"
	"pulley/sim/db"
)

// The tables of pull.
type (
	ledgerRow struct {
		inst            *instance
		status          ledgerStatus
		due             int64 // on the server's clock
		token           int64
		attempt         int
		owner           string
		args            *string
		done            int64 // zero: null
		result, failure *string
		completed       *happened // the note of its end
	}
	arrivalKey struct {
		runKey
		source string
	}
	arrivalRow struct {
		inst              *instance
		required, reached int32
		watched           bool
		args              *string
		wait              *int64 // in µs
		finish            *string
	}
	inboxRow struct {
		inst  *instance
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

// pullStore is what is on the server.
type pullStore struct {
	base
	scan     pull.Scan
	cycles   *db.Table[int, struct{}] // what the advisory locks stand for
	ledger   *db.Table[runKey, ledgerRow]
	arrivals *db.Table[arrivalKey, arrivalRow]
	inbox    *db.Table[valueKey, inboxRow]

	leaves map[uint64]bool // transactions that leave their cycle to another, which is a bug
}

// newPullStore makes the tables, on the server of a world.
func newPullStore(w *world, memory *statements) *pullStore {
	s, scan := w.server.Server, pull.ScanApp
	if w.Backend == "pull:scan=sql" {
		scan = pull.ScanSQL
	}
	p := &pullStore{
		base:   newBase(w, memory),
		scan:   scan,
		leaves: map[uint64]bool{},
		cycles: db.NewTable[int, struct{}](s, "cycles", cmp.Compare[int]),
		ledger: db.NewTable[runKey, ledgerRow](s, "ledger", compareRun),
		arrivals: db.NewTable[arrivalKey, arrivalRow](s, "arrivals", func(a, b arrivalKey) int {
			return cmp.Or(compareRun(a.runKey, b.runKey), strings.Compare(a.source, b.source))
		}),
		inbox: db.NewTable[valueKey, inboxRow](s, "inbox", compareValue),
	}
	w.server.setUp((&asked{}).each(func() int { return w.Shards }, func(x *db.Exec, i int) error {
		return p.cycles.Insert(x, i, struct{}{})
	}))
	return p
}

// open implements store: a pull.Backend, the real code.
func (s *pullStore) open(h *host) (hosted, error) {
	store := newPgStore(h, func(_ *pgConn, sql string, args []any) *asked { return statementOf(s, &s.base, pullTexts, sql, args) })
	return pull.On(store, pull.Config{Scan: s.scan}), nil
}

// leftovers implements store.
func (s *pullStore) leftovers() map[string]int {
	out := map[string]int{}
	s.ledger.Committed(func(k runKey, _ ledgerRow) bool { s.left(out, "ledger", k.inst); return true })
	s.arrivals.Committed(func(k arrivalKey, _ arrivalRow) bool { s.left(out, "arrivals", k.inst); return true })
	s.inbox.Committed(func(k valueKey, _ inboxRow) bool { s.left(out, "inbox", k.inst); return true })
	return out
}

// committed implements store: what the ledger has of an instance that runs is what its twin has (I1, I2, I4), and of
// scan=sql what stands beside it (I2, I4, I6).
func (s *pullStore) committed(t *twin) {
	inst := t.inst
	if t.end != nil || !inst.taken {
		return
	}
	id, open := int32(inst.index), 0
	s.ledger.CommittedFrom(runKey{inst: id, node: math32}, func(k runKey, row ledgerRow) bool {
		if k.inst != id {
			return false
		}
		r := t.Runs[k.run()]
		switch {
		case row.status == ledgerCompleted && row.completed == nil: // a barrier that has opened
		case row.status == ledgerCompleted && (r != nil || !t.applied[row.token]):
			t.wrong("I3", "%s stands in the ledger as completed with token %d, and was not", t.name(k.run()), row.token)
		case row.status == ledgerCompleted:
		case r == nil:
			t.wrong("I10", "%s stands in the ledger, and was done, called off or never enqueued", t.name(k.run()))
		case r.attempt != row.attempt:
			t.wrong("I4", "%s stands in the ledger as attempt %d; it is at attempt %d", t.name(k.run()), row.attempt, r.attempt)
		default:
			open++
		}
		return true
	})
	if open != len(t.Runs) {
		t.wrong("I2", "%d node runs stand in the ledger and are to be run; there should be %d: %s", open, len(t.Runs), t.describe())
	}
	if s.scan == pull.ScanSQL {
		s.compareScope(t, id)
	}
}
