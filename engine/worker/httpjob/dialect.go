package httpjob

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"pulley/engine/worker"
)

// state is what a job has come to.
type state int

const (
	active    state = iota // not begun, or running
	succeeded              // result has its result, or the dialect fetches it
	failed
	cancelled
	lost // the server deleted it
)

// status is what the server says of a job.
type status struct {
	id         string // that the dialect finds it by
	state      state
	result     json.RawMessage // of one that succeeded; nil: it gave none
	failure    *worker.Error   // of one that did not
	retryAfter time.Duration   // zero: the server does not say
}

// dialect is how an API is spoken to. Errors are those of client.repeat.
type dialect interface {
	// prepare makes the request that starts the job of an attempt.
	prepare(call worker.Call, key string) (start, error)
	// start begins a job, or gives the one that was begun before with the same key. With an error, s.open says whether
	// the job may have been started; find tells.
	start(ctx context.Context, s *start) (status, error)
	// find looks for the job with a key. Its id is empty where there is none.
	find(ctx context.Context, key string) (status, error)
	// poll asks for a job's status.
	poll(ctx context.Context, id string) (status, error)
	// cancel asks the server to end a job. One that has ended already is no error.
	cancel(ctx context.Context, id string) error
	// finish gives what an attempt ends with, whose job has ended.
	finish(ctx context.Context, s start, ended status) (any, error)
}

// start is what starts a job.
type start struct {
	key       string
	request   request
	resultURL string // for CloudRun; empty: none
	open      bool   // the job may have been started, by this delivery of the attempt or by one before
}

// badAnswer tells of an answer that is none of the dialect's.
func badAnswer(r request, format string, args ...any) error {
	return &worker.Error{Type: worker.TypeResult, Message: fmt.Sprintf("%v: the answer is not as the API says: ", r) + fmt.Sprintf(format, args...)}
}

// outcome is what a job leaves: a result, or what went wrong.
type outcome struct {
	Result json.RawMessage `json:"result"`
	Error  *outcomeError   `json:"error"`
}

type outcomeError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// failure gives what went wrong in the workflow's terms; instead stands for a type that is missing.
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
