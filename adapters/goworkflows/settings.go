package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"pulley/adapter/protocol"
)

// settings are the adapter's settings.
type settings struct {
	workflowLock, activityLock time.Duration
	sticky                     time.Duration
	heartbeat                  time.Duration
	cache                      time.Duration
	poll                       time.Duration
	attempts                   int
	connections                int
}

// Locks, heartbeats and the cache have a twentieth of go-workflows' times, since no run waits for those: a minute, two, half a minute,
// 25 s and 10 s. The cache must forget a workflow before its lock ends.
var defaults = settings{
	workflowLock: 3 * time.Second, activityLock: 6 * time.Second, sticky: 1500 * time.Millisecond,
	heartbeat: 1250 * time.Millisecond, cache: 500 * time.Millisecond,
	poll: worker.DefaultOptions.ActivityPollingInterval, attempts: workflow.DefaultRetryOptions.MaxAttempts, connections: 20,
}

func (s settings) list() []protocol.Setting {
	return []protocol.Setting{
		{Name: "workflow_lock_ms", Default: ms(s.workflowLock), About: "WithWorkflowLockTimeout, from 100; go-workflows' default is 60000"},
		{Name: "activity_lock_ms", Default: ms(s.activityLock), About: "WithActivityLockTimeout, from 100; go-workflows' default is 120000"},
		{Name: "sticky_ms", Default: ms(s.sticky), About: "WithStickyTimeout: other processes do not continue a workflow so soon; go-workflows' default is 30000"},
		{Name: "heartbeat_ms", Default: ms(s.heartbeat), About: "ActivityHeartbeatInterval and WorkflowHeartbeatInterval, from 10; go-workflows' default is 25000"},
		{Name: "cache_ms", Default: ms(s.cache), About: "WorkflowExecutorCacheTTL, from 10; go-workflows' default is 10000"},
		{Name: "poll_ms", Default: ms(s.poll), About: "ActivityPollingInterval and WorkflowPollingInterval, from 1; go-workflows' default", Try: []string{"50", "10"}},
		{Name: "max_attempts", Default: strconv.Itoa(s.attempts), About: "RetryOptions.MaxAttempts; go-workflows' default"},
		{Name: "connections", Default: strconv.Itoa(s.connections), About: "SetMaxOpenConns, from 5; go-workflows has no bound; looks have 4 more", Try: []string{"60"}},
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// worker is the worker's options. What they do not say is go-workflows' default.
func (s settings) worker(slots int) *worker.Options {
	o := worker.DefaultOptions
	o.WorkflowHeartbeatInterval, o.ActivityHeartbeatInterval = s.heartbeat, s.heartbeat
	o.WorkflowPollingInterval, o.ActivityPollingInterval = s.poll, s.poll
	o.WorkflowExecutorCacheTTL = s.cache
	o.MaxParallelActivityTasks = slots
	return &o
}

func (s settings) retries() workflow.RetryOptions {
	o := workflow.DefaultRetryOptions
	o.MaxAttempts = s.attempts
	return o
}

func (s settings) promises() protocol.Promises {
	recovers := s.sticky + s.workflowLock + s.activityLock + 3*s.poll
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		Attempts: s.attempts, RecoversMS: recovers.Milliseconds(),
	}
}

func parseSettings(texts map[string]string) (s settings, err error) {
	number := func(name string, least, most int) int {
		n, mistake := strconv.Atoi(texts[name])
		if err == nil && (mistake != nil || n < least || n > most) {
			err = fmt.Errorf("%s is %q; choose a number from %d to %d", name, texts[name], least, most)
		}
		return n
	}
	const hour = 60 * 60 * 1000
	duration := func(name string, least int) time.Duration {
		return time.Duration(number(name, least, hour)) * time.Millisecond
	}
	s.workflowLock, s.activityLock = duration("workflow_lock_ms", 100), duration("activity_lock_ms", 100)
	s.sticky, s.heartbeat = duration("sticky_ms", 0), duration("heartbeat_ms", 10)
	s.cache, s.poll = duration("cache_ms", 10), duration("poll_ms", 1)
	s.attempts, s.connections = number("max_attempts", 1, 1000), number("connections", 5, 1000)
	return s, err
}
