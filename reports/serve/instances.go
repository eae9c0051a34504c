package serve

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"pulley/internal/live"
	"pulley/reports/page"
)

// Instances are those of a store. It is safe for concurrent use.
type Instances interface {
	// Title names the store, for people.
	Title() string
	// List returns a part of the list that a query asks for. It fails with ErrQuery.
	List(ctx context.Context, query url.Values) (InstanceList, error)
	// Instance lays out the page of an instance. It fails with ErrNoInstance.
	Instance(ctx context.Context, id string) (*page.Page, error)
}

// Errors of Instances.
var (
	ErrQuery      = errors.New("the address asks for nothing that there is")
	ErrNoInstance = errors.New("there is no such instance")
)

// InstanceList is a part of a list, and what was asked for.
type InstanceList struct {
	Status, Workflow string
	At               string // the time of the store
	Rows             []InstanceRow
	Next             string // an id, behind which the list continues; empty: nowhere
}

// InstanceRow is an instance in a list.
type InstanceRow struct {
	ID, Workflow           string
	State                  page.State
	Error                  string
	Submitted, Age         string
	At                     int64 // when it was submitted, in seconds since 1970
	Done, Running, Waiting string
}

type instancesPage struct {
	Style template.CSS
	Title string
	InstanceList
	Script   template.JS
	Statuses []string
	First    bool   // of the parts of the list
	Newest   string // the address of the first part
	Older    string // the address of the next part; empty: there is none
}

// storeWait is how long a store may take to answer.
const storeWait = 20 * time.Second

func (s *Server) instances(w http.ResponseWriter, q *http.Request) {
	query := q.URL.Query()
	view := instancesPage{
		Style: template.CSS(style), Script: template.JS(page.Script()), Title: live.Clean(s.cfg.Instances.Title()), Statuses: []string{"running", "completed", "failed", "canceled"},
		First: query.Get("after") == "", Newest: "/?" + url.Values{"status": query["status"], "workflow": query["workflow"]}.Encode(),
	}
	err := s.turn(q.Context(), func() (err error) {
		ctx, cancel := context.WithTimeout(q.Context(), storeWait)
		defer cancel()
		view.InstanceList, err = s.cfg.Instances.List(ctx, query)
		return err
	})
	if err != nil {
		s.refuseStore(w, err)
		return
	}
	if view.Next != "" {
		view.Older = "/?" + url.Values{"status": {view.Status}, "workflow": {view.Workflow}, "after": {view.Next}}.Encode()
	}
	s.html(w, "instances.html.tmpl", listPolicy, view)
}

func (s *Server) instance(w http.ResponseWriter, q *http.Request) {
	var p *page.Page
	err := s.turn(q.Context(), func() error {
		ctx, cancel := context.WithTimeout(q.Context(), storeWait)
		defer cancel()
		var err error
		p, err = safely(func() (*page.Page, error) { return s.cfg.Instances.Instance(ctx, q.PathValue("id")) })
		return err
	})
	if err != nil {
		s.refuseStore(w, err)
		return
	}
	s.write(w, p, []page.Link{{Text: "← All instances", Address: "/"}, {Text: "Reload", Address: q.URL.EscapedPath()}})
}

func (s *Server) refuseStore(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	switch {
	case errors.Is(err, ErrQuery):
		status = http.StatusBadRequest
	case errors.Is(err, ErrNoInstance):
		status = http.StatusNotFound
	case errors.Is(err, errBusy):
		w.Header().Set("Retry-After", "2")
		status = http.StatusServiceUnavailable
	}
	refuse(w, status, s.inside(err))
}
