package main

import (
	"fmt"
	"strconv"
	"time"

	"pulley/adapter/protocol"
)

// settings are the adapter's settings.
type settings struct {
	poll        time.Duration
	retries     int
	retry       time.Duration
	connections int
	direct      bool
}

// DBOS's defaults, but for the retries, which are ten in the example of its documentation and none by default.
var defaults = settings{poll: time.Second, retries: 10, retry: 100 * time.Millisecond, connections: 20}

func (s settings) list() []protocol.Setting {
	return []protocol.Setting{
		{Name: "poll_ms", Default: ms(s.poll), About: "WithQueueBasePollingInterval, from 1; DBOS's default", Try: []string{"100", "10"}},
		{Name: "start", Default: "queue", About: "queue: Enqueue, and any process takes the workflow; direct: RunWorkflow, in the process that is asked to submit", Try: []string{"direct"}},
		{Name: "step_retries", Default: strconv.Itoa(s.retries), About: "WithStepMaxRetries; DBOS's default is 0, its documentation's example has 10"},
		{Name: "retry_ms", Default: ms(s.retry), About: "WithStepBaseInterval, from 1; DBOS's default; it doubles with each retry, up to 5 s"},
		{Name: "connections", Default: strconv.Itoa(s.connections), About: "pool_max_conns, from 5; DBOS's default; Submit has 4 more", Try: []string{"40"}},
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func (s settings) promises() protocol.Promises {
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once, Attempts: s.retries + 1,
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
	s.poll = time.Duration(number("poll_ms", 1, hour)) * time.Millisecond
	s.retries = number("step_retries", 0, 1000)
	s.retry = time.Duration(number("retry_ms", 1, hour)) * time.Millisecond
	s.connections = number("connections", 5, 1000)
	switch start := texts["start"]; {
	case start == "direct":
		s.direct = true
	case start != "queue" && err == nil:
		err = fmt.Errorf("start is %q; choose queue or direct", start)
	}
	return s, err
}
