package explore

import (
	"maps"
	"slices"
)

// The bugs that can be planted in a design, by the names that they have in package mutants where it has them.
const (
	bugTokenIgnored         = "token-ignored"
	bugLeaseNotFenced       = "lease-not-fenced"
	bugReadinessBeforeGuard = "readiness-before-guard"
	bugIncrementAlone       = "increment-and-enqueue-apart"
	bugEndedTwice           = "ended-twice"
	bugNeverReclaimed       = "never-reclaimed"
	bugAttemptsForgotten    = "attempts-forgotten-in-a-crash"
	bugUnknownIsFailure     = "unknown-commit-is-a-failure"
	bugUnknownIsSuccess     = "unknown-commit-is-a-success"
	bugMapOrder             = "map-order"
	bugLoopReset            = "loop-reset-forgotten"
	bugEpochIgnored         = "epoch-ignored"
	bugEpochNoKey           = "epoch-is-no-key"
	bugLeasesForgotten      = "handed-over-leases-forgotten"
	bugReplayOrder          = "replay-out-of-order"
	bugWithdrawnApplied     = "withdrawn-request-applied"
	bugEpochKept            = "epoch-not-raised"
	bugRenewUnfenced        = "shard-prolonged-by-an-earlier-owner"
	bugStateForgotten       = "written-state-not-stored"
	bugAdoptedTwice         = "taken-up-again-and-again"
)

// anyOfThem: what an owner remembers wrongly comes to light in one way or another, as chance has it.
const anyOfThem = "I1 I2 I3 I4 I6 I7 I8 I9 I10 I11 I12"

// bugs are those of each design, with the invariants one of which finds them.
var bugs = map[string]map[string]string{
	"push": {
		bugTokenIgnored:         "I3",
		bugLeaseNotFenced:       "I11",
		bugReadinessBeforeGuard: "I2 I12",
		bugIncrementAlone:       "I2",
		bugEndedTwice:           "I7",
		bugNeverReclaimed:       "I9",
		bugAttemptsForgotten:    "I4",
		bugUnknownIsFailure:     "I3",
		bugUnknownIsSuccess:     "I8",
		bugMapOrder:             "D5",
		bugLoopReset:            "I2 I4",
	},
	"journal": {
		bugEpochIgnored:      anyOfThem,
		bugEpochNoKey:        anyOfThem,
		bugEpochKept:         anyOfThem,
		bugRenewUnfenced:     anyOfThem,
		bugLeasesForgotten:   anyOfThem,
		bugReplayOrder:       anyOfThem,
		bugWithdrawnApplied:  anyOfThem,
		bugStateForgotten:    anyOfThem,
		bugAdoptedTwice:      anyOfThem,
		bugUnknownIsFailure:  anyOfThem,
		bugUnknownIsSuccess:  anyOfThem,
		bugNeverReclaimed:    anyOfThem,
		bugEndedTwice:        anyOfThem,
		bugAttemptsForgotten: anyOfThem,
	},
}

// Bugs lists the bugs that can be planted in a design, or in any.
func Bugs(backend string) []string {
	all := map[string]bool{}
	for design, list := range bugs {
		for bug := range list {
			if backend == "" || backend == design {
				all[bug] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}
