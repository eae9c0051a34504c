package eager

import (
	"embed"

	"pulley/internal/pgstore"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement, as it is sent, by its file name.
func SQL(name string) (string, error) { return runs.SQL(name) }

// Applied is an event whose plan a transaction is about to apply.
type Applied = pgstore.Applied

// applied tells a simulated connection which events the next apply.sql stands for.
func (c *commit) applied(events []*commitEvent) {
	pgstore.AnnounceApplied(c.conn, events, func(e *commitEvent) Applied {
		a := Applied{Instance: e.instance, CreatesInstance: e.submission != nil, Run: e.coreEvent.Run, Attempt: e.coreEvent.Attempt, Failed: e.coreEvent.Failure != nil, Inbox: e.inbox, Plan: e.plan}
		if e.completion != nil {
			a.Token, a.Lease = e.completion.Lease.Token, e.completion.Lease.Token
		}
		return a
	})
}
