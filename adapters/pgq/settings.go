package main

import (
	"fmt"
	"strconv"
	"time"

	"pulley/adapter/protocol"
)

// settings are the adapter's settings. Those of the documentation are in their About, where ours are shorter: a run lasts a minute.
type settings struct {
	tickerPeriod, retryPeriod, maintPeriod time.Duration // of pgqd

	tickerMaxLag, tickerIdle, rotation time.Duration // of the queue
	tickerMaxCount                     int

	poll, retryAfter, dead time.Duration // of consumers
	trusting               bool          // guard is off
}

var defaults = settings{
	tickerPeriod: 100 * time.Millisecond, retryPeriod: 500 * time.Millisecond, maintPeriod: time.Second,
	tickerMaxLag: 100 * time.Millisecond, tickerIdle: time.Second, rotation: 10 * time.Second, tickerMaxCount: 500,
	poll: 50 * time.Millisecond, retryAfter: 200 * time.Millisecond, dead: 5 * time.Second,
}

// field is a setting's name, where it is, and what is said of it.
type field struct {
	name  string
	time  *time.Duration // nil: it is a number
	count *int
	about string
}

func (s *settings) fields() []field {
	return []field{
		{"ticker_period_ms", &s.tickerPeriod, nil, "ticker_period: how often a process calls pgq.ticker(); pgqd's default is 1000"},
		{"ticker_max_lag_ms", &s.tickerMaxLag, nil, "ticker_max_lag of the queue: no event waits longer for a tick; PgQ's default is 3000"},
		{"ticker_max_count", nil, &s.tickerMaxCount, "ticker_max_count of the queue: so many new events make a tick at once; PgQ's default"},
		{"ticker_idle_period_ms", &s.tickerIdle, nil, "ticker_idle_period of the queue: how often there is a tick without new events; PgQ's default is 60000"},
		{"rotation_period_ms", &s.rotation, nil, "rotation_period of the queue; PgQ's default is 7200000"},
		{"retry_period_ms", &s.retryPeriod, nil, "retry_period: how often a process empties the retry queue; pgqd's default is 30000"},
		{"maint_period_ms", &s.maintPeriod, nil, "maint_period: how often a process does maintenance; pgqd's default is 120000"},
		{"poll_ms", &s.poll, nil, "how long a consumer waits that found no batch; 1000 is loop_delay's default in PgQ's framework for Python"},
		{"retry_ms", &s.retryAfter, nil, "how long a failed event stays in the retry queue; 60000 is the default of PgQ's framework for Python"},
		{"dead_ms", &s.dead, nil, "i_dead_interval of pgq_coop.next_batch, from 1000: when a silent process has lost its batch; PgQ has no default, and shows an hour"},
	}
}

func (s settings) list() (list []protocol.Setting) {
	for _, f := range s.fields() {
		setting := protocol.Setting{Name: f.name, About: f.about}
		if f.time != nil {
			setting.Default = strconv.FormatInt(f.time.Milliseconds(), 10)
		} else {
			setting.Default = strconv.Itoa(*f.count)
		}
		list = append(list, setting)
	}
	return append(list, protocol.Setting{
		Name: "guard", Default: "on", About: "on: a task's first value counts; off: effects are in the transaction of finish_batch, and the adapter relies on it alone",
	})
}

// dayMS bounds times.
const dayMS = 24 * 60 * 60 * 1000

func parseSettings(texts map[string]string) (s settings, err error) {
	for _, f := range s.fields() {
		least := int64(1)
		if f.time == &s.dead {
			least = 1000
		}
		n, mistake := strconv.ParseInt(texts[f.name], 10, 64)
		if mistake != nil || n < least || n > dayMS {
			return s, fmt.Errorf("%s is %q; choose a number from %d to %d", f.name, texts[f.name], least, dayMS)
		}
		if f.time != nil {
			*f.time = time.Duration(n) * time.Millisecond
		} else {
			*f.count = int(n)
		}
	}
	if guard := texts["guard"]; guard != "on" && guard != "off" {
		return s, fmt.Errorf("guard is %q; choose on or off", guard)
	}
	s.trusting = texts["guard"] == "off"
	return s, nil
}

// queueConfig is what pgq.set_queue_config gets.
func (s settings) queueConfig() map[string]string {
	return map[string]string{
		"ticker_max_lag": postgresInterval(s.tickerMaxLag), "ticker_idle_period": postgresInterval(s.tickerIdle),
		"rotation_period": postgresInterval(s.rotation), "ticker_max_count": strconv.Itoa(s.tickerMaxCount),
	}
}

// recovers is how long the work of a dead process may wait: until another process takes its batch, with a poll each for itself and for
// subconsumers that are idle; and what followed from it, until there is a tick, or until it has left the retry queue.
func (s settings) recovers() time.Duration {
	const idleSubconsumers = 10
	return s.dead + idleSubconsumers*s.poll + s.retryAfter + s.retryPeriod + max(s.tickerMaxLag, s.tickerIdle) + s.tickerPeriod
}

func (s settings) promises() protocol.Promises {
	return protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		RecoversMS: s.recovers().Milliseconds(),
	}
}
