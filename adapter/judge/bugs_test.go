package judge_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"pulley/adapter/judge"
	"pulley/adapter/protocol"
	"pulley/internal/depth"
)

// bug is a planted one.
type bug string

const (
	bugLostSubmit     bug = "accepted and not stored"
	bugNeverBegins    bug = "stored and never begun"
	bugSecondInstance bug = "a second instance of an id"
	bugLostTask       bug = "a task taken for done"
	bugTwice          bug = "a lost task executed again"
	bugResultTwice    bug = "a late value replaces one"
	bugOrder          bug = "another instance first"
	bugGivesUp        bug = "fails too early"
	bugNeverContinues bug = "leases never end"
	bugMadeUp         bug = "a value that nobody gave"
	bugBeforeNeed     bug = "a task before its need"
	bugEndChanged     bug = "a late value replaces an end"
	bugOtherResult    bug = "the value of another task"
	bugEndLost        bug = "an end that is not stored"
)

// promises are those of a system with leases.
var promises = protocol.Promises{
	Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once, RecoversMS: 3000,
}

// choose draws a right system.
func choose(r *rand.Rand) choice {
	c := choice{promises: promises, process: 1 + r.IntN(3), slot: 1 + r.IntN(3), fenced: r.IntN(2) == 0, counts: r.IntN(3), fails: r.IntN(2) == 0}
	c.quiet = r.IntN(5) == 0
	switch r.IntN(5) {
	case 0:
		c.promises.Attempts = 3 // no task fails as often
	case 1:
		c.promises.Attempts = 2
		c.fails = true
	case 2:
		c.process, c.slot, c.promises.Order = 1, 1, protocol.InOrder
	case 3:
		c = atMostOnce(c)
		c.promises.Attempts += 2 * r.IntN(2)
	}
	if r.IntN(6) == 0 {
		c.promises.Resubmit = protocol.None
	}
	if r.IntN(6) == 0 {
		c.promises.Results = protocol.Any
	}
	c.ends = r.IntN(10) == 0
	c.slow = c.fails && r.IntN(8) == 0
	return c
}

func atMostOnce(c choice) choice {
	c.promises.Execution, c.promises.Attempts, c.promises.RecoversMS = protocol.AtMostOnce, 1, 0
	c.counts = 2 * (c.counts / 2)
	return c
}

// TestRightSystemsNeverBreakTheirPromises plays right systems under faults.
func TestRightSystemsNeverBreakTheirPromises(t *testing.T) {
	keeps, sum := 0, judge.Counts{}
	worlds := depth.Of(uint64(1000), 50_000)
	for seed := range worlds {
		h := newWorld(seed, choose(rand.New(rand.NewPCG(seed, 1)))).play()
		v := judge.Judge(h)
		if v.Result == judge.Breaks {
			t.Fatalf("seed %d: %s%s", seed, v.Text(), evidence(t, v))
		}
		if v.Result == judge.Keeps {
			keeps++
		}
		sum.RepeatedExecutions += v.Counts.RepeatedExecutions
		sum.ExecutionsAfterEnd += v.Counts.ExecutionsAfterEnd
		sum.Kills += v.Counts.Kills
		sum.BatchesUnanswered += v.Counts.BatchesUnanswered
		sum.InstancesFailed += v.Counts.InstancesFailed
		sum.InstancesEnded += v.Counts.InstancesEnded
		sum.Restarts.Instances += v.Counts.Restarts.Instances
	}
	t.Logf("%d of %d keep; %+v", keeps, worlds, sum)
	if keeps < int(worlds)*2/3 {
		t.Errorf("only %d of %d are judged", keeps, worlds)
	}
	if sum.RepeatedExecutions == 0 || sum.ExecutionsAfterEnd == 0 || sum.BatchesUnanswered == 0 || sum.InstancesFailed == 0 || sum.Restarts.Instances == 0 {
		t.Errorf("something never happened: %+v", sum)
	}
}

func evidence(t *testing.T, v *judge.Verdict) string {
	t.Helper()
	text := "\n"
	for _, line := range v.Violations[0].Lines {
		entry, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		text += string(entry) + "\n"
	}
	return text
}

// TestPlantedBugsAreFound plays systems with one bug each. The rules that fit must find it, and no other may be blamed.
func TestPlantedBugsAreFound(t *testing.T) {
	cases := []struct {
		bug  bug
		want []judge.Rule // the first must be found; what the bug does may also look like the others
		fit  func(c *choice)
	}{
		{bugLostSubmit, []judge.Rule{judge.RuleSubmit}, nil},
		{bugNeverBegins, []judge.Rule{judge.RuleSubmit, judge.RuleRecovers}, nil},
		{bugSecondInstance, []judge.Rule{judge.RuleResubmit, judge.RuleResults, judge.RuleEndChanged, judge.RuleEndLost}, nil},
		{bugLostTask, []judge.Rule{judge.RuleAtLeastOnce}, nil},
		{bugTwice, []judge.Rule{judge.RuleAtMostOnce}, func(c *choice) { *c = atMostOnce(*c); c.counts, c.fails = 0, false }},
		{bugResultTwice, []judge.Rule{judge.RuleResults, judge.RuleResubmit}, nil},
		{bugOrder, []judge.Rule{judge.RuleOrder}, func(c *choice) { c.process, c.slot, c.quiet, c.promises.Order = 1, 1, true, protocol.InOrder }},
		{bugGivesUp, []judge.Rule{judge.RuleAttempts}, func(c *choice) { c.fails = true }},
		{bugGivesUp, []judge.Rule{judge.RuleAttempts}, func(c *choice) { c.fails, c.quiet, c.promises.Attempts = true, true, 3 }},
		{bugNeverContinues, []judge.Rule{judge.RuleRecovers, judge.RuleSubmit}, nil},
		{bugMadeUp, []judge.Rule{judge.RuleValue}, nil},
		{bugBeforeNeed, []judge.Rule{judge.RuleNeeds, judge.RuleAtLeastOnce}, nil},
		{bugEndChanged, []judge.Rule{judge.RuleEndChanged, judge.RuleResubmit}, nil},
		{bugOtherResult, []judge.Rule{judge.RuleResult}, nil},
		{bugEndLost, []judge.Rule{judge.RuleEndLost, judge.RuleEndChanged, judge.RuleSubmit}, func(c *choice) { c.promises.Resubmit = protocol.None }},
	}
	for _, c := range cases {
		t.Run(string(c.bug), func(t *testing.T) {
			hit, found, others := 0, 0, map[judge.Rule]int{}
			for seed := range uint64(400) {
				r := rand.New(rand.NewPCG(seed, 2))
				chosen := choice{promises: promises, process: 1 + r.IntN(3), slot: 1 + r.IntN(3), counts: r.IntN(3), fails: r.IntN(2) == 0, bug: c.bug}
				if c.fit != nil {
					c.fit(&chosen)
				}
				w := newWorld(seed, chosen)
				v := judge.Judge(w.play())
				if w.hit {
					hit++
				}
				if v.Totals[c.want[0]] > 0 {
					found++
				}
				for _, violation := range v.Violations {
					if !w.hit {
						t.Fatalf("seed %d: the bug did nothing: %s%s", seed, v.Text(), evidence(t, v))
					}
					if !slices.Contains(c.want, violation.Rule) {
						if others[violation.Rule]++; others[violation.Rule] == 1 {
							v.Violations = []judge.Violation{violation}
							t.Errorf("seed %d: %s%s", seed, v.Text(), evidence(t, v))
						}
					}
				}
			}
			t.Logf("it did something in %d worlds, and %v was violated in %d; others: %v", hit, c.want[0], found, others)
			if found < 20 {
				t.Errorf("%v was violated in %d worlds only, of %d in which it did something", c.want[0], found, hit)
			}
		})
	}
}
