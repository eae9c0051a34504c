package push

import (
	"embed"

	"pulley/engine/backend/postgres"
)

// What follows lets a simulated host know what it is asked, and hold it against what is durable.

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement by the name of its file. It is sent as it is, but for apply: that is cut down to the parts that
// events need (postgres.CutDown).
func SQL(name string) (string, error) { return queue.SQL(name) }

// Applied is an event whose plan a transaction is about to apply.
type Applied = postgres.Applied

// announceApplied says what the next apply.sql on a connection stands for.
func (c *commit) announceApplied(on postgres.Conn, events []*commitEvent) {
	postgres.AnnounceApplied(on, events, func(e *commitEvent) Applied {
		a := Applied{Ord: e.ord, Instance: e.instance, CreatesInstance: e.submission != nil, Run: *e.run(), Inbox: e.inbox, Plan: e.plan}
		if done := e.completion; done != nil {
			a.Token, a.Lease, a.Attempt, a.Failed = e.token, done.Lease.Token, done.Attempt, done.Failure != nil
		}
		return a
	})
}
