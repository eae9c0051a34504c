package httpjob

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"pulley/engine/worker"
)

type plain struct {
	client *client
	job    Job
}

type plainStart struct {
	Job      string          `json:"job"`
	Args     json.RawMessage `json:"args"`
	Instance string          `json:"instance"`
	Node     string          `json:"node"`
	Path     string          `json:"path"`
	Attempt  int             `json:"attempt"`
}

type plainJob struct {
	ID    string `json:"id"`
	State string `json:"state"`
	outcome
}

var plainStates = map[string]state{
	"pending": active, "running": active, "succeeded": succeeded, "failed": failed, "cancelled": cancelled,
}

func (p *plain) prepare(call worker.Call, key string) (start, error) {
	name := p.job.Name
	if name == "" {
		name = call.Action
	}
	body, err := json.Marshal(plainStart{
		Job: name, Args: call.Args, Instance: call.Instance.String(), Node: call.Node, Path: string(call.Path), Attempt: call.Attempt,
	})
	if err != nil {
		return start{}, &worker.Error{Type: worker.TypeArgument, Message: fmt.Sprintf("the arguments cannot be sent: %v", err)}
	}
	return start{key: key, request: request{method: http.MethodPost, url: p.client.config.URL, key: key, body: body}}, nil
}

// start may be retried: the server knows the key. A refused request does not show whether earlier ones were served.
func (p *plain) start(ctx context.Context, s *start) (status, error) {
	b := backoff{config: p.client.config}
	for {
		a, err := p.client.once(ctx, s.request)
		s.open = s.open || err == nil || isUnclear(err)
		if err == nil {
			return p.read(s.request, a)
		}
		if err := b.wait(ctx, err); err != nil {
			return status{}, err
		}
	}
}

func (p *plain) find(ctx context.Context, key string) (status, error) {
	found, err := p.request(ctx, request{method: http.MethodGet, url: p.client.config.URL + "?key=" + url.QueryEscape(key)})
	if isStatus(err, http.StatusNotFound) {
		return status{}, nil
	}
	return found, err
}

func (p *plain) poll(ctx context.Context, id string) (status, error) {
	r := request{method: http.MethodGet, url: p.client.config.URL + "/" + url.PathEscape(id)}
	seen, err := p.request(ctx, r)
	if err == nil && seen.id != id {
		return status{}, badAnswer(r, "it is of a job with another id")
	}
	return seen, err
}

func (p *plain) cancel(ctx context.Context, id string) error {
	_, err := p.client.repeat(ctx, request{method: http.MethodPost, url: p.client.config.URL + "/" + url.PathEscape(id) + "/cancel"})
	if isStatus(err, http.StatusNotFound) || isStatus(err, http.StatusGone) {
		return nil
	}
	return err
}

const idBytes = 1000

func (p *plain) request(ctx context.Context, r request) (status, error) {
	a, err := p.client.repeat(ctx, r)
	if err != nil {
		return status{}, err
	}
	return p.read(r, a)
}

func (p *plain) read(r request, a answer) (status, error) {
	var job plainJob
	if err := json.Unmarshal(a.body, &job); err != nil {
		return status{}, badAnswer(r, "it is no JSON of a job: %v", err)
	}
	s, ok := plainStates[job.State]
	switch {
	case job.ID == "" || len(job.ID) > idBytes || job.ID == "." || job.ID == "..":
		return status{}, badAnswer(r, "the job's id is empty, a path, or longer than %d bytes", idBytes)
	case !ok:
		return status{}, badAnswer(r, "the state %q is none of pending, running, succeeded, failed and cancelled", excerpt([]byte(job.State), ""))
	}
	seen := status{id: job.ID, state: s, result: job.Result, retryAfter: a.retryAfter}
	switch s {
	case failed:
		seen.failure = job.Error.failure(TypeJobFailed)
	case cancelled:
		seen.failure = job.Error.failure(TypeJobCancelled)
		seen.failure.Type = TypeJobCancelled
	}
	return seen, nil
}

func (p *plain) finish(_ context.Context, _ start, ended status) (any, error) {
	if ended.failure != nil {
		return nil, ended.failure
	}
	if ended.result == nil {
		return nil, &worker.Error{Type: worker.TypeResult, Message: "the job succeeded, and gave no result; it gives one JSON value, such as null"}
	}
	return ended.result, nil
}
