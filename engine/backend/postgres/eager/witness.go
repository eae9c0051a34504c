package eager

import (
	"embed"

	"github.com/google/uuid"

	"pulley/engine/backend/postgres"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// What follows lets a simulated host know what it is asked, and hold it against what is durable.

//go:embed sql/*.sql
var statementFiles embed.FS

// SQL gives a statement as it is sent, by the name of its file.
func SQL(name string) (string, error) { return runs.SQL(name) }

// Applied is an event whose plan a transaction is about to apply, with what was read for it.
type Applied struct {
	Instance uuid.UUID
	Born     bool      // it is the instance's beginning
	Run      graph.Run // that has ended, or goes on
	Token    int64     // of the completion; zero: it goes on because of another event of the transaction
	Attempt  int
	Failed   bool
	Inbox    plan.Inbox
	Plan     plan.Plan
}

// applied says what the next apply.sql on the connection stands for.
func (c *commit) applied(events []*event) {
	witness, ok := c.conn.(postgres.Witness)
	if !ok {
		return
	}
	list := make([]Applied, len(events))
	for i, e := range events {
		list[i] = Applied{Instance: e.instance, Born: e.submission != nil, Run: e.what.Run, Attempt: e.what.Attempt, Failed: e.what.Failure != nil, Inbox: e.inbox, Plan: e.plan}
		if e.completion != nil {
			list[i].Token = e.completion.Lease.Token
		}
	}
	witness.Applies(list)
}
