package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pulley/adapter/protocol"
)

// settings are the adapter's settings.
type settings struct {
	shards       int // history shards
	connections  int // of a service of the server to the tables of state
	partitions   int // of the task queue
	pollers      int // of workflow tasks, and of activity tasks
	waits        int // results that are waited for at once
	maxAttempts  int // of an activity; zero: no bound
	roundsPerRun int // rounds before a workflow continues as new; zero: when the server suggests it
	eager        bool

	workflowTask time.Duration // timeout
	sticky       time.Duration // timeout
	activity     time.Duration // what the start-to-close timeout is longer than the task
	retry        time.Duration // before the second attempt
	retryMost    time.Duration // before any attempt
}

var defaults = settings{
	shards: 4, connections: 5, partitions: 4, pollers: 2, waits: 500,
	workflowTask: 10 * time.Second, sticky: 5 * time.Second, activity: 5 * time.Second, retry: time.Second, retryMost: 5 * time.Second,
}

func (s settings) list() []protocol.Setting {
	return []protocol.Setting{
		{Name: "shards", Default: strconv.Itoa(s.shards), About: "numHistoryShards, from 1 to 512; that of Temporal's configuration for development. By default, one loads tasks 20 times a second at most, which a task and what follows take twice", Try: []string{"64"}},
		{Name: "connections", Default: strconv.Itoa(s.connections), About: "maxConns of each of a server's four services; 2 more are for visibility", Try: []string{"20"}},
		{Name: "partitions", Default: strconv.Itoa(s.partitions), About: "of the task queue; Temporal's default", Try: []string{"1"}},
		{Name: "pollers", Default: strconv.Itoa(s.pollers), About: "of workflow tasks and of activity tasks, from 2; the SDK's default", Try: []string{"16", "64"}},
		{Name: "eager", Default: "off", About: "on: workflows and activities may start in the process that made them, without the task queue; off is the SDK's default for workflows", Try: []string{"on"}},
		{Name: "workflow_task_ms", Default: ms(s.workflowTask), About: "the workflow task timeout, from 1000; Temporal's default"},
		{Name: "sticky_ms", Default: ms(s.sticky), About: "StickyScheduleToStartTimeout, from 100; the SDK's default"},
		{Name: "activity_ms", Default: ms(s.activity), About: "how much longer than its task an activity may take: its start-to-close timeout, which has no default, is the sum"},
		{Name: "retry_ms", Default: ms(s.retry), About: "InitialInterval of the retry policy, which doubles; Temporal's default"},
		{Name: "retry_most_ms", Default: ms(s.retryMost), About: "MaximumInterval, from retry_ms; Temporal's default is a hundred times the first, for which no run waits"},
		{Name: "max_attempts", Default: strconv.Itoa(s.maxAttempts), About: "MaximumAttempts of an activity; 0, Temporal's default: no bound"},
		{Name: "rounds_per_run", Default: strconv.Itoa(s.roundsPerRun), About: "after so many rounds a workflow continues as new; 0: when Temporal suggests it"},
		{Name: "result_waits", Default: strconv.Itoa(s.waits), About: "results that a process waits for at once, each with a long poll"},
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// takeover is how long the shards and task queues of a dead server stay without an owner. Temporal names no bound. A member of the
// ring that does not answer is suspected within two protocol periods, given up 5 s later, and its shards are loaded then.
const takeover = 10 * time.Second

// promises are what Temporal promises. longest is that of the longest task.
func (s settings) promises(longest time.Duration) protocol.Promises {
	activity := longest + s.activity + s.retryMost
	workflow := s.workflowTask + s.sticky
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		Attempts: s.maxAttempts, RecoversMS: (takeover + max(activity, workflow)).Milliseconds(),
	}
}

func parseSettings(texts map[string]string) (s settings, err error) {
	number := func(name string, least, most int64) int64 {
		n, mistake := strconv.ParseInt(texts[name], 10, 64)
		if err == nil && (mistake != nil || n < least || n > most) {
			err = fmt.Errorf("%s is %q; choose a number from %d to %d", name, texts[name], least, most)
		}
		return n
	}
	duration := func(name string, least, most time.Duration) time.Duration {
		return time.Duration(number(name, least.Milliseconds(), most.Milliseconds())) * time.Millisecond
	}
	const day = 24 * time.Hour
	s.shards = int(number("shards", 1, 512))
	s.connections = int(number("connections", 1, 1000))
	s.partitions = int(number("partitions", 1, 100))
	s.pollers = int(number("pollers", 2, 1000))
	s.workflowTask = duration("workflow_task_ms", time.Second, 2*time.Minute) // Temporal's most
	s.sticky = duration("sticky_ms", 100*time.Millisecond, day)
	s.activity = duration("activity_ms", 100*time.Millisecond, day)
	s.retry = duration("retry_ms", time.Millisecond, day)
	s.retryMost = duration("retry_most_ms", max(s.retry, time.Millisecond), day)
	s.maxAttempts = int(number("max_attempts", 0, 1000))
	s.roundsPerRun = int(number("rounds_per_run", 0, 1_000_000))
	s.waits = int(number("result_waits", 1, 100_000))
	switch eager := strings.ToLower(texts["eager"]); {
	case eager == "on":
		s.eager = true
	case eager != "off" && err == nil:
		err = fmt.Errorf("eager is %q; choose on or off", texts["eager"])
	}
	return s, err
}
