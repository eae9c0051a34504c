package httpjob

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pulley/engine/worker"
)

type state int

const (
	active    state = iota // waiting or running
	succeeded              // result is set, or the dialect fetches it
	failed
	cancelled
	lost // the server deleted it
)

type status struct {
	id         string
	state      state
	result     json.RawMessage // if succeeded; nil: none
	failure    *worker.Error
	retryAfter time.Duration // zero: not given
}

// dialect implements an API. Errors are those of client.repeat.
type dialect interface {
	prepare(call worker.Call, key string) (start, error)
	// start starts a job, or returns the one started before with the same key. With an error, s.open is set if the job may have
	// been started; find resolves that.
	start(ctx context.Context, s *start) (status, error)
	// find looks for the job with a key. Without one, its id is empty.
	find(ctx context.Context, key string) (status, error)
	poll(ctx context.Context, id string) (status, error)
	// cancel succeeds if the job has already ended.
	cancel(ctx context.Context, id string) error
	// finish is for an attempt whose job has ended.
	finish(ctx context.Context, s start, ended status) (any, error)
}

type start struct {
	key       string
	request   request
	resultURL string // for CloudRun; empty: none
	open      bool   // this or an earlier delivery may have started the job
}

func badAnswer(r request, format string, args ...any) error {
	return &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("%v: the answer is not as the API says: ", r) + fmt.Sprintf(format, args...)}
}

type outcome struct {
	Result json.RawMessage `json:"result"`
	Error  *outcomeError   `json:"error"`
}

type outcomeError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// failure replaces a missing type by instead.
func (e *outcomeError) failure(instead string) *worker.Error {
	failure := &worker.Error{Type: instead, Message: "the job says no more"}
	if e != nil {
		if e.Type != "" {
			failure.Type = e.Type
		}
		if e.Message != "" {
			failure.Message = e.Message
		}
	}
	return failure
}
