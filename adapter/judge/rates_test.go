package judge_test

import (
	"testing"
	"time"

	"pulley/adapter/judge"
)

func TestRates(t *testing.T) {
	t.Parallel()
	at := func(kind judge.Kind, ms int) judge.Entry {
		return judge.Entry{Kind: kind, AtNS: int64(time.Duration(ms) * time.Millisecond)}
	}
	for name, c := range map[string]struct {
		entries []judge.Entry
		want    judge.Rates
	}{
		"no fault": {[]judge.Entry{at(judge.Started, 0), at(judge.Finished, 500), at(judge.Sent, 9000)}, judge.Rates{}},
		"both": {[]judge.Entry{
			at(judge.Started, 0), at(judge.Finished, 100), at(judge.Finished, 1500), at(judge.FaultBegan, 2000), at(judge.Finished, 2100), at(judge.FaultEnded, 3000),
			at(judge.Finished, 3100), at(judge.Finished, 3200), at(judge.Finished, 3300), at(judge.Sent, 4500), at(judge.Finished, 4600),
		}, judge.Rates{BeforePerS: 1, AfterPerS: 2}},
		"a fault at once, and at the end": {[]judge.Entry{
			at(judge.Started, 0), at(judge.Finished, 100), at(judge.Killed, 900), at(judge.Died, 3000), at(judge.Finished, 3100), at(judge.Sent, 3900),
		}, judge.Rates{}},
	} {
		if got := judge.Judge(&judge.History{Entries: c.entries}).Counts.Rates; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
