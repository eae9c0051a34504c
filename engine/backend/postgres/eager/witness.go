package eager

import (
	"embed"

	"pulley/engine/backend/postgres"
)

// What follows lets a simulated host know what it is asked, and hold it against what is durable.

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement as it is sent, by the name of its file.
func SQL(name string) (string, error) { return runs.SQL(name) }

// Applied is an event whose plan a transaction is about to apply.
type Applied = postgres.Applied

// applied says what the next apply.sql on the connection stands for.
func (c *commit) applied(events []*commitEvent) {
	postgres.AnnounceApplied(c.conn, events, func(e *commitEvent) Applied {
		a := Applied{Instance: e.instance, CreatesInstance: e.submission != nil, Run: e.coreEvent.Run, Attempt: e.coreEvent.Attempt, Failed: e.coreEvent.Failure != nil, Inbox: e.inbox, Plan: e.plan}
		if e.completion != nil {
			a.Token, a.Lease = e.completion.Lease.Token, e.completion.Lease.Token
		}
		return a
	})
}
