package push

import (
	"embed"

	"pulley/internal/pgstore"
)

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL returns a statement by its file name. It is sent as it is, except apply: that is cut down to the parts its events need
// (pgstore.CutDown).
func SQL(name string) (string, error) { return queue.SQL(name) }

// Applied is an event whose plan a transaction is about to apply.
type Applied = pgstore.Applied

// announceApplied tells a simulated connection which events the next apply.sql stands for.
func (c *commit) announceApplied(on pgstore.Conn, events []*commitEvent) {
	pgstore.AnnounceApplied(on, events, func(e *commitEvent) Applied {
		a := Applied{Ord: e.ord, Instance: e.instance, CreatesInstance: e.submission != nil, Run: *e.run(), Inbox: e.inbox, Plan: e.plan}
		if done := e.completion; done != nil {
			a.Token, a.Lease, a.Attempt, a.Failed = e.token, done.Lease.Token, done.Attempt, done.Failure != nil
		}
		return a
	})
}
