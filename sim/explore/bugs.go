package explore

import (
	"slices"
	"strings"
)

// The bugs that can be planted in a design, by the names that they have in package mutants where it has them.
const (
	bugTokenIgnored         = "token-ignored"
	bugLeaseNotFenced       = "lease-not-fenced"
	bugReadinessBeforeGuard = "readiness-before-guard"
	bugIncrementAlone       = "increment-and-enqueue-apart"
	bugAtOrAbove            = "enqueue-at-or-above-required"
	bugInboxOutside         = "inbox-outside-the-transaction"
	bugEndedTwice           = "ended-twice"
	bugSweptBack            = "sweeper-overwrites-finished"
	bugNeverReclaimed       = "never-reclaimed"
	bugExtension            = "extension-in-words-only"
	bugAttemptsForgotten    = "attempts-forgotten-in-a-crash"
	bugAcknowledged         = "acknowledged-before-commit"
	bugUnknownIsFailure     = "unknown-commit-is-a-failure"
	bugUnknownIsSuccess     = "unknown-commit-is-a-success"
	bugStaleDrops           = "stale-member-drops-the-batch"
	bugNoPolling            = "lost-wake-up"
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
	bugGatesOpen            = "called-off-unlocked"
	bugHoldsOn              = "called-off-behind-its-own-lock"
	bugTidyUnseen           = "tidy-unseen"
	bugLifeIgnored          = "crash-forgotten-when-a-commit-is-settled"
	bugCyclesTogether       = "cycles-side-by-side"
	bugCycleLeft            = "cycle-left-to-another"
	bugNotCalledOff         = "called-off-and-left"
	bugEndUnlocked          = "ended-without-its-locks"
	bugReleasedOthers       = "leases-of-others-released"
	bugExtendWaits          = "extension-waits-with-rows-in-hand" // eager has it, too: its case shows it (testdata)
)

// Bugs that were there, and that a search seldom finds: their cases show them (testdata).
const (
	// What became of an append is read although another has had the shard since it was taken for that.
	bugLookUnfenced = "looked-after-another-had-the-shard"
	// A request that is not there when it is called off never came, whatever a crash may have taken.
	bugCrashedRequest = "crashed-request-never-came"
	// Instances that are submitted are stored in any order.
	bugBirthsUnordered = "submissions-in-any-order"
	// The later rounds of a transaction wait for counters that others have, and hold those of the first.
	bugLaterRoundsWait = "later-rounds-wait"
	// The rows of an instance that ends are waited for, whoever has them.
	bugRemovalWaits = "removal-waits"
	// What arguments refer to is read behind the claim, and given to a run that was called off in between.
	bugGivenCalledOff = "called-off-and-given-out"
)

// Bug is one that can be planted in a design.
type Bug struct {
	Backend    string `json:"backend"`
	Name       string `json:"bug"`
	What       string `json:"what"`
	Invariants string `json:"invariants"` // one of which finds it; where there are several, chance decides which breaks first
}

// FoundBy says whether a violation is one by which the bug is to be found.
func (b Bug) FoundBy(violation string) bool {
	return slices.Contains(strings.Fields(b.Invariants), InvariantOf(violation))
}

// InvariantOf gives the invariant that a violation begins with.
func InvariantOf(violation string) string {
	invariant, _, _ := strings.Cut(violation, ":")
	return invariant
}

// bugs are all, in the order in which INVARIANTS.md has those that it names.
var bugs = inBothScans([]Bug{
	{"push", bugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"push", bugAtOrAbove, "each of the arrivals that are committed together finds the count full, and has the barrier go on", "I2 I9 I12"},
	{"push", bugIncrementAlone, "a counter is filled in one transaction, and what goes on then is in another", "I2 I3"},
	{"push", bugReadinessBeforeGuard, "a stale completion counts at the barriers behind it", "I2 I10 I12"},
	{"push", bugInboxOutside, "values are written by a transaction of their own, before the one that has the guard", "I4 I10"},
	{"push", bugLoopReset, "what a round of a loop leaves is not taken away by the next", "I2 I4 I10"},
	{"push", bugEndedTwice, "an instance that has ended takes completions, and ends again", "I7 I12"},
	{"push", bugSweptBack, "a sweep puts runs back that have been completed since it saw them", "I8 I10"},
	{"push", bugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"push", bugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I11"},
	{"push", bugExtension, "a prolonged lease ends when it would have", "I11"},
	{"push", bugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"push", bugUnknownIsFailure, "a commit whose reply was lost counts as one that did not take place", "I3"},
	{"push", bugUnknownIsSuccess, "a commit whose reply was lost counts as one that took place", "I8"},
	{"push", bugStaleDrops, "one stale completion of a call takes the others with it", "I3"},
	{"push", bugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"push", bugAttemptsForgotten, "who takes a lease over begins to count attempts anew", "I4"},
	{"push", bugTidyUnseen, "what an ended instance has left is taken to be gone without another look", "I10"},
	{"push", bugMapOrder, "completions and counters are locked in any order", "D5"},

	{"eager", bugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"eager", bugIncrementAlone, "a counter is filled in one transaction, and what goes on then is in none", "I2"},
	{"eager", bugLoopReset, "the rows of a loop's body are not reset for the next round", "I2 I4 I10 I12"},
	{"eager", bugEndedTwice, "an instance that has ended takes completions, and ends again", "I7"},
	{"eager", bugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"eager", bugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I3 I11"},
	{"eager", bugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"eager", bugUnknownIsFailure, "a commit whose reply was lost counts as one that did not take place", "I3 I8"},
	{"eager", bugUnknownIsSuccess, "a commit whose reply was lost counts as one that took place", "I8"},
	{"eager", bugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"eager", bugAttemptsForgotten, "who takes a lease over begins to count attempts anew", "I4"},
	{"eager", bugMapOrder, "rows are locked in any order", "D5"},
	{"eager", bugHoldsOn, "who calls runs off waits for those at work, and has locked its own before", "D5"},
	{"eager", bugGatesOpen, "runs that are called off are not locked first", "I2 I4 I10 I12"},
	{"eager", bugTidyUnseen, "what an ended instance has left is taken to be gone without another look", "I10"},
	{"eager", bugLifeIgnored, "what became of a commit is asked for by a number that a crash has given to another", "I8 I12"},

	{"journal", bugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"journal", bugEpochIgnored, "an append does not ask whose the shard is", anyOfThem},
	{"journal", bugEpochNoKey, "the owner of a shard may change between an append's look at the epoch and its commit", anyOfThem},
	{"journal", bugEpochKept, "who takes a shard over has the epoch of the owner before", anyOfThem},
	{"journal", bugRenewUnfenced, "an owner prolongs what has become another's shard", anyOfThem},
	{"journal", bugLeasesForgotten, "who takes a shard over does not heed the leases that stand with it", anyOfThem},
	{"journal", bugReplayOrder, "events are replayed in another order than that in which they happened", anyOfThem},
	{"journal", bugWithdrawnApplied, "the owner applies a request that was withdrawn", anyOfThem},
	{"journal", bugStateForgotten, "the state of an instance that leaves memory is not stored", anyOfThem},
	{"journal", bugAdoptedTwice, "a new instance is taken up again and again", anyOfThem},
	{"journal", bugUnknownIsFailure, "an append whose reply was lost counts as one that did not take place", anyOfThem},
	{"journal", bugUnknownIsSuccess, "an append whose reply was lost counts as one that took place", anyOfThem},
	{"journal", bugNeverReclaimed, "a shard whose owner is gone is never given to anybody else", anyOfThem},
	{"journal", bugEndedTwice, "an instance that has ended ends again", anyOfThem},
	{"journal", bugAttemptsForgotten, "that a run is to be tried again is not written down", anyOfThem},
	{"journal", bugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},

	{"pull", bugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"pull", bugCyclesTogether, "two cycles of a shard look at the same time", "D5 I1 I2 I3 I7 I10 I12"},
	{"pull", bugCycleLeft, "who finds a cycle under way leaves its own to that, which has looked before", "I2 I7"},
	{"pull", bugNotCalledOff, "runs that are called off stay in the ledger", "I2 I10"},
	{"pull", bugEndedTwice, "an instance that has ended ends again", "I7"},
	{"pull", bugEndUnlocked, "rows of an instance that ends are not locked before they are taken away", "D5 I10"},
	{"pull", bugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"pull", bugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I3 I11"},
	{"pull", bugReleasedOthers, "who gives up the leases of a commit whose reply was lost gives up those of others, too", "I3 I11"},
	{"pull", bugExtendWaits, "who prolongs leases has some of the rows while it waits for others", "D5"},
	{"pull", bugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"pull", bugUnknownIsFailure, "a commit whose reply was lost counts as one that did not take place", "I3 I8"},
	{"pull", bugUnknownIsSuccess, "a commit whose reply was lost counts as one that took place", "I8"},
	{"pull", bugLifeIgnored, "what became of a commit is asked for by a number that a crash has given to another", "I8 I12"},
	{"pull", bugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"pull", bugAttemptsForgotten, "that a run is to be tried again is not counted", "I4"},

	{"pull:scan=sql", bugLoopReset, "what a round of a loop leaves in the ledger is not taken away", "I2 I4 I10 I12"},
})

// inBothScans adds the bugs of pull that its other scan has as well. That calls runs off with the statement that takes away
// what a round of a loop leaves.
func inBothScans(all []Bug) []Bug {
	for _, b := range all {
		if b.Backend == "pull" && b.Name != bugNotCalledOff {
			b.Backend = "pull:scan=sql"
			all = append(all, b)
		}
	}
	return all
}

const anyOfThem = "I1 I2 I3 I4 I6 I7 I8 I9 I10 I11 I12"

// Bugs lists the bugs that can be planted in a design, or in any.
func Bugs(backend string) []Bug {
	var all []Bug
	for _, b := range bugs {
		if backend == "" || backend == b.Backend {
			all = append(all, b)
		}
	}
	return all
}

// BugNames lists their names, each once.
func BugNames(backend string) []string {
	var names []string
	for _, b := range Bugs(backend) {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// BugOf finds a bug of a design.
func BugOf(backend, name string) (Bug, bool) {
	i := slices.IndexFunc(bugs, func(b Bug) bool { return b.Backend == backend && b.Name == name })
	if i < 0 {
		return Bug{}, false
	}
	return bugs[i], true
}
