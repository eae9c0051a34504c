package push

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

// SQL gives a statement by the name of its file. It is sent as it is, but for apply: that is cut down to the parts that
// events need (postgres.CutDown).
func SQL(name string) (string, error) { return queue.SQL(name) }

// Applied is an event whose plan a transaction is about to apply, with what was read for it.
type Applied struct {
	Ord      int32 // by which the statement names it
	Instance uuid.UUID
	Born     bool      // it is the instance's beginning
	Run      graph.Run // that has ended, or goes on
	Token    int64     // of the completion; zero: it goes on because of another event of the transaction
	Lease    int64     // the token with which it was offered, before one was fenced
	Attempt  int
	Failed   bool
	Inbox    plan.Inbox
	Plan     plan.Plan
}

// tell says what the next apply.sql on a connection stands for.
func (c *commit) tell(on postgres.Conn, events []*event) {
	witness, ok := on.(postgres.Witness)
	if !ok {
		return
	}
	list := make([]Applied, len(events))
	for i, e := range events {
		list[i] = Applied{Ord: e.ord, Instance: e.instance, Born: e.submission != nil, Run: *e.run(), Inbox: e.inbox, Plan: e.plan}
		if done := e.completion; done != nil {
			list[i].Token, list[i].Lease, list[i].Attempt, list[i].Failed = e.token, done.Lease.Token, done.Attempt, done.Failure != nil
		}
	}
	witness.Applies(list)
}
