package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"pulley/adapter/protocol"
)

// list returns the states of the workflows that options choose.
func (s *system) list(ctx context.Context, options ...dbos.ListWorkflowsOption) ([]protocol.State, error) {
	options = append(options, dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(true))
	workflows, err := dbos.ListWorkflows(dbos.From(s.dbos, ctx), options...)
	if err != nil {
		return nil, fmt.Errorf("listing workflows: %w", err)
	}
	states := make([]protocol.State, len(workflows))
	for n, w := range workflows {
		if states[n], err = stateOf(w); err != nil {
			return nil, err
		}
	}
	return states, nil
}

func stateOf(w dbos.WorkflowStatus) (protocol.State, error) {
	switch w.Status {
	case dbos.WorkflowStatusSuccess:
		output, _ := w.Output.(string) // JSON, which DBOS leaves to be decoded here, where the type is known
		state := protocol.State{ID: w.ID, Status: protocol.Completed}
		if err := json.Unmarshal([]byte(output), &state.Value); err != nil {
			return state, fmt.Errorf("the output of workflow %q: %w", w.ID, err)
		}
		return state, nil
	case dbos.WorkflowStatusError, dbos.WorkflowStatusCancelled, dbos.WorkflowStatusMaxRecoveryAttemptsExceeded:
		message := string(w.Status)
		if w.Error != nil {
			message += ": " + w.Error.Error()
		}
		return protocol.State{ID: w.ID, Status: protocol.Failed, Message: message}, nil
	}
	return protocol.State{ID: w.ID, Status: protocol.Open}, nil
}

// awaitEnd reports the end of a workflow that was started here, when its result is stored. watch looks for others.
func (s *system) awaitEnd(id string, handle dbos.WorkflowHandle[string]) {
	value, err := handle.GetResult()
	if err != nil {
		return // watch knows whether that is its end
	}
	s.env.Ended(id, protocol.Completed, value)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// expect lets watch look for the end of an instance.
func (s *system) expect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = true
}

// watch reports the ends of instances until the process closes, and once more then.
func (s *system) watch(executor string) {
	began := time.Now()
	told := false // what an earlier process of this number may have left untold
	wait := endsEvery
	for last := false; !last; {
		select {
		case <-s.quit:
			last = true
		case <-s.dbos.Done():
			return
		case <-time.After(wait):
		}
		wait = endsEvery
		err := s.reportEnds()
		if err == nil && !told {
			err = s.report(dbos.WithFilterExecutorIDs(executor), dbos.WithFilterCompletedAfter(began.Add(-recent)), dbos.WithFilterCompletedBefore(began))
			told = err == nil
		}
		if err != nil {
			s.env.Problem(fmt.Errorf("looking for ends: %w", err))
			wait = pauseMost
		}
	}
}

func (s *system) reportEnds() error {
	s.mu.Lock()
	ids := make([]string, 0, len(s.open))
	for id := range s.open {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	return s.report(dbos.WithFilterWorkflowIDs(ids...))
}

// report reports those workflows that options choose and that have ended.
func (s *system) report(options ...dbos.ListWorkflowsOption) error {
	ctx, cancel := context.WithTimeout(s.dbos, answerWithin)
	defer cancel()
	states, err := s.list(ctx, append(options, dbos.WithFilterStatus(dbos.WorkflowStatusSuccess, dbos.WorkflowStatusError))...)
	if err != nil {
		return err
	}
	for _, e := range states {
		s.env.Ended(e.ID, e.Status, e.Value+e.Message) // one of the two is empty
		s.mu.Lock()
		delete(s.open, e.ID)
		s.mu.Unlock()
	}
	return nil
}
