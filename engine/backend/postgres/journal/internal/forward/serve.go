package forward

import (
	"context"
	_ "embed" // of the statements
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
)

var (
	//go:embed sql/fetch_requests.sql
	fetchRequestsSQL string
	//go:embed sql/answer.sql
	answerSQL string
)

// ageMax is when a fetched or withdrawn request is deleted.
const ageMax = 5 * time.Minute

// Message is a fetched request.
type Message struct {
	ID   uuid.UUID
	Body []byte
}

// Request decodes the request.
func (m Message) Request() (req Request, err error) { return req, json.Unmarshal(m.Body, &req) }

// FetchRequests fetches the requests to a shard. On an error the calling engines withdraw them in time.
func (d *Forwarder) FetchRequests(ctx context.Context, shard int) ([]Message, error) {
	rows, err := d.Pool.Query(ctx, fetchRequestsSQL, shard, ageMax.Microseconds())
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (m Message, err error) {
		err = row.Scan(&m.ID, &m.Body)
		return m, err
	})
}

// Reply sends an answer, notifies the calling engine, and reports whether the request was not withdrawn.
func (d *Forwarder) Reply(ctx context.Context, shard int, m Message, r Response) (waited bool, err error) {
	data, err := json.Marshal(r)
	if err != nil {
		data = []byte(`{"error":"the answer cannot be written","unknown":true}`)
	}
	tag, err := d.Pool.Exec(ctx, answerSQL, shard, [16]byte(m.ID), data, d.Channel, answeredBy+m.ID.String())
	return tag.RowsAffected() > 0, err
}

// Fill copies the result of a call into an answer.
func (d *Forwarder) Fill(ctx context.Context, r *Response, out backend.Committed) error {
	r.Ended, r.More = out.Ended, out.More
	if !out.NextDue.IsZero() {
		r.DueAfter = max(out.NextDue.Sub(d.Clock.Now()), 1)
	}
	for _, o := range out.Outcomes {
		w := Outcome{Answer: o.Answer}
		if o.Err != nil {
			w.Error = o.Err.Error()
		}
		r.Outcomes = append(r.Outcomes, w)
	}
	for _, t := range out.Tasks {
		r.Tasks = append(r.Tasks, Task{Lease: t.Lease, Action: t.Action, Args: t.Args, Attempt: t.Attempt, Deliveries: t.Deliveries})
	}
	for i, t := range out.Tasks {
		var err error
		if r.Tasks[i].Program, err = d.Store.Number(ctx, t.Program); err != nil {
			return fmt.Errorf("%w: %w", backend.ErrUnknown, err)
		}
	}
	return nil
}
