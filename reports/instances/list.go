package instances

import (
	"context"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/internal/clip"
	"pulley/reports/page"
	"pulley/reports/serve"
	"pulley/reports/units"
)

// Store is a backend whose instances are shown.
type Store struct {
	Backend backend.Inspector
	Name    string // what is shown, for people: a schema
	Tool    string // the program that shows it
}

var _ serve.Instances = Store{}

// Bounds of a list and of what is read of an instance.
const (
	listMost  = 50
	countMost = 1000
	openMost  = 1000
)

// Title implements serve.Instances.
func (s Store) Title() string { return s.Name }

// List implements serve.Instances. The query has status, workflow, and after, an id.
func (s Store) List(ctx context.Context, q url.Values) (list serve.InstanceList, err error) {
	f := backend.Filter{Workflow: q.Get("workflow"), Most: listMost, CountMost: countMost}
	switch status := backend.Status(q.Get("status")); status {
	case "", backend.Running, backend.Completed, backend.Failed, backend.Canceled:
		f.Status = status
	default:
		return list, fmt.Errorf("%w: status is running, completed, failed or canceled", serve.ErrQuery)
	}
	if after := q.Get("after"); after != "" {
		if f.After, err = uuid.Parse(after); err != nil {
			return list, fmt.Errorf("%w: after is the id of an instance", serve.ErrQuery)
		}
	}
	found, err := s.Backend.List(ctx, f)
	if err != nil {
		return list, err
	}
	list.Status, list.Workflow, list.At = string(f.Status), f.Workflow, units.Instant(found.Now)
	if found.Next != uuid.Nil {
		list.Next = found.Next.String()
	}
	for _, in := range found.Instances {
		row := serve.InstanceRow{
			ID: in.ID.String(), Workflow: clip.Runes(units.Printable(in.Workflow), nameMost), State: StateOf(in.Status), Error: clip.Runes(units.Printable(in.Failure), nameMost),
			Age: age(found.Now, in.Submitted), At: in.Submitted.Unix(), Submitted: units.Instant(in.Submitted), Done: "–", Running: "–", Waiting: "–",
		}
		if n := in.Counts; n != nil {
			if row.Running, row.Waiting = counted(n.Running, countMost), counted(n.Waiting, countMost); n.Done != nil {
				row.Done = counted(*n.Done, countMost)
			}
		}
		list.Rows = append(list.Rows, row)
	}
	return list, nil
}

// Instance implements serve.Instances.
func (s Store) Instance(ctx context.Context, text string) (*page.Page, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return nil, serve.ErrNoInstance
	}
	snapshot, err := backend.InspectWhole(ctx, s.Backend, id, openMost)
	switch {
	case err != nil:
		return nil, err
	case snapshot.Status == "":
		return nil, serve.ErrNoInstance
	}
	return Lay(snapshot, s.Tool), nil
}
