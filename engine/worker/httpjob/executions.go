package httpjob

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"pulley/engine/worker"
)

const (
	pageSizeMax = 100
	pagesMax    = 1000
)

// executions finds the executions of one Cloud Run job by their keys. Many searches share a listing that begins after them, so
// that the server lists pages one at a time, whatever the number of attempts. Newest come first, and a listing ends where the
// previous one began.
type executions struct {
	client *client
	url    string
	jobs   *Jobs

	mu      sync.Mutex
	running bool
	next    *listing // begins when the running one has ended; nil: no search waits

	// Results of listings, used only by the running one.
	known  map[string]found
	byKey  map[string][]string
	newest time.Time // creation time, when the last listing ended
	page   int
}

type found struct {
	key     string
	created time.Time
}

type listing struct {
	done  chan struct{}
	byKey map[string][]string // names, oldest first, of the awaited keys
	keys  map[string]bool
	err   error
}

// find returns the oldest execution with a key, and the others; an empty name if there is none.
func (e *executions) find(ctx context.Context, key string) (name string, more []string, err error) {
	l := e.join(key)
	select {
	case <-l.done:
	case <-ctx.Done():
		return "", nil, context.Cause(ctx)
	}
	if l.err != nil {
		return "", nil, l.err
	}
	if names := l.byKey[key]; len(names) > 0 {
		return names[0], names[1:], nil
	}
	return "", nil, nil
}

func (e *executions) join(key string) *listing {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil {
		e.next = &listing{done: make(chan struct{}), keys: map[string]bool{}, byKey: map[string][]string{}}
	}
	l := e.next
	l.keys[key] = true
	if !e.running {
		if e.running = e.jobs.begin(e.run); !e.running {
			e.next = nil
			l.err = ErrClosed
			close(l.done)
		}
	}
	return l
}

// run lists until no search waits.
func (e *executions) run() {
	for {
		e.mu.Lock()
		l := e.next
		e.next = nil
		if l == nil {
			e.running = false
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		l.err = e.list(e.jobs.background)
		for isTooLong(l.err) && e.page > 1 {
			e.page /= 2
			l.err = e.list(e.jobs.background)
		}
		for key := range l.keys {
			l.byKey[key] = slices.Clone(e.byKey[key])
		}
		close(l.done)
	}
}

func isTooLong(err error) bool {
	var typed *worker.Error
	return errors.As(err, &typed) && typed.Type == worker.TypeLimit
}

func (e *executions) margin() time.Duration { return max(e.client.config.VisibilityDelay, time.Minute) }

func (e *executions) list(ctx context.Context) error {
	until := time.Now().Add(-e.client.config.LookupWindow)
	if back := e.newest.Add(-e.margin()); back.After(until) {
		until = back
	}
	newest, token := e.newest, ""
	for range pagesMax {
		page, err := e.request(ctx, token)
		if err != nil {
			return err // what is known is right, and newest stays: the next listing goes as far back
		}
		oldest := time.Time{}
		for i := range page.Executions {
			x := &page.Executions[i]
			e.add(x)
			if x.CreateTime.After(newest) {
				newest = x.CreateTime
			}
			oldest = x.CreateTime
		}
		if token = page.NextPageToken; token == "" || !oldest.IsZero() && oldest.Before(until) {
			break
		}
	}
	e.newest = newest
	e.forget()
	return nil
}

// listedFields are the needed fields, as a Google API partial response. A server may return more.
const listedFields = "nextPageToken,executions(name,createTime,template(containers(env)))"

type executionPage struct {
	Executions    []execution `json:"executions"`
	NextPageToken string      `json:"nextPageToken"`
}

func (e *executions) request(ctx context.Context, token string) (page executionPage, err error) {
	query := url.Values{"pageSize": {strconv.Itoa(e.page)}, "fields": {listedFields}}
	if token != "" {
		query.Set("pageToken", token)
	}
	r := request{method: http.MethodGet, url: e.url + "?" + query.Encode()}
	a, err := e.client.repeat(ctx, r)
	if err != nil {
		return page, err
	}
	if err := json.Unmarshal(a.body, &page); err != nil {
		return page, badAnswer(r, "it is no JSON of a list of executions: %v", err)
	}
	return page, nil
}

func (e *executions) add(x *execution) {
	f := found{key: x.key(), created: x.CreateTime}
	if _, ok := e.known[x.Name]; ok || x.Name == "" || f.key == "" {
		return
	}
	if f.created.IsZero() {
		f.created = time.Now()
	}
	e.known[x.Name] = f
	names := append(e.byKey[f.key], x.Name)
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(e.known[a].created.Compare(e.known[b].created), cmp.Compare(a, b))
	})
	e.byKey[f.key] = names
}

func (e *executions) forget() {
	until := time.Now().Add(-e.client.config.LookupWindow)
	for name, f := range e.known {
		if f.created.After(until) {
			continue
		}
		delete(e.known, name)
		names := slices.DeleteFunc(e.byKey[f.key], func(other string) bool { return other == name })
		if e.byKey[f.key] = names; len(names) == 0 {
			delete(e.byKey, f.key)
		}
	}
}
