package explore

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pulley/internal/depth"
)

// TestRealityIsNoticed plants differences: a changed row in each table of the simulated database, and bugs in the simulated
// client that change what is committed. Each must be noticed, by the table that it is in or by a reply.
func TestRealityIsNoticed(t *testing.T) {
	r, d := newReal(t), &drawn{}
	for _, c := range []struct {
		what, want string
		bug        string
		plant      func(*stepwise) bool
		from       uint64 // the case in which it is, or one before; an earlier one would be as good
	}{
		{what: "an attempt", want: "simulated: queue", plant: func(s *stepwise) bool {
			return tamper(s, s.store().queue, func(q queued) queued { q.attempt++; return q })
		}},
		{what: "a place in the queue", want: "simulated: queue", plant: func(s *stepwise) bool {
			return tamper(s, s.store().queue, func(q queued) queued { q.due = yearsBefore(q.due, 100); return q })
		}},
		{what: "a count", want: "simulated: readiness", from: 48, plant: func(s *stepwise) bool {
			return tamper(s, s.store().readiness, func(r readiness) readiness { r.required++; return r })
		}},
		{what: "a value", want: "simulated: inbox", plant: func(s *stepwise) bool {
			return tamper(s, s.store().inbox, func(json.RawMessage) json.RawMessage { return json.RawMessage(`"planted"`) })
		}},
		{what: "a place", want: "simulated: elements", from: 48, plant: func(s *stepwise) bool {
			return tamper(s, s.store().elements, func(c collected) collected {
				c.places = slices.Clone(c.places)
				c.places[0]++
				return c
			})
		}},
		{what: "a mark", want: "simulated: commit", plant: func(s *stepwise) bool {
			return tamper(s, s.store().commits, func(c commitRow) commitRow { c.number++; return c })
		}},
		{what: "an instance", want: "simulated: instance", plant: func(s *stepwise) bool {
			return tamper(s, s.store().instances, func(i instanceRow) instanceRow { i.untidy = !i.untidy; return i })
		}},
		{what: bugTokenIgnored, bug: bugTokenIgnored, from: 40},
		{what: bugUnknownIsFailure, bug: bugUnknownIsFailure},
		{what: bugUnknownIsSuccess, bug: bugUnknownIsSuccess, from: 32},
		{what: bugLoopReset, bug: bugLoopReset, from: 32},
	} {
		if c.from > 0 && !depth.Night() {
			continue // it is further on than the first cases
		}
		const most = 64
		for seed := c.from; ; seed++ {
			if seed == c.from+most {
				t.Errorf("%s: not noticed in %d cases", c.what, most)
				break
			}
			err := replay(t, r, d, seed, map[string]int{}, c.bug, c.plant)
			if err == nil {
				continue // it did not come to that
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: noticed by another difference: %v", c.what, err)
			}
			t.Logf("%s: noticed in case %d", c.what, seed)
			break
		}
	}
}
