package explore

import (
	"pulley/engine/backend/postgres/pull"
)

// client implements store: a pull.Backend, the real code, on a simulated host.
func (s *pullStore) client(p *process) client {
	h := newHost(p)
	store := newPgStore(h, func(_ *pgConn, sql string, args []any) *asked { return statementOf(s, &s.base, pullTexts, sql, args) })
	return h.run(pull.On(store, pull.Config{Scan: s.scan}))
}
