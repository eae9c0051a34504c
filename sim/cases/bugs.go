package cases

import (
	"slices"
	"strings"
)

// The bugs that can be planted in a design, by the names that they have in package mutants where it has them.
const (
	BugTokenIgnored           = "token-ignored"
	BugLeaseNotFenced         = "lease-not-fenced"
	BugReadinessBeforeGuard   = "readiness-before-guard"
	BugIncrementAlone         = "increment-and-enqueue-apart"
	BugAtOrAbove              = "enqueue-at-or-above-required"
	BugInboxOutside           = "inbox-outside-the-transaction"
	BugEndedTwice             = "ended-twice"
	BugSweptBack              = "sweeper-overwrites-finished"
	BugNeverReclaimed         = "never-reclaimed"
	BugRenewalInWordsOnly     = "extension-in-words-only"
	BugAttemptsForgotten      = "attempts-forgotten-in-a-crash"
	BugAcknowledged           = "acknowledged-before-commit"
	BugUnknownIsFailure       = "unknown-commit-is-a-failure"
	BugUnknownIsSuccess       = "unknown-commit-is-a-success"
	BugStaleDrops             = "stale-member-drops-the-batch"
	BugNoPolling              = "lost-wake-up"
	BugMapOrder               = "map-order"
	BugLoopReset              = "loop-reset-forgotten"
	BugEpochIgnored           = "epoch-ignored"
	BugEpochNoKey             = "epoch-is-no-key"
	BugLeasesForgotten        = "handed-over-leases-forgotten"
	BugReplayOrder            = "replay-out-of-order"
	BugWithdrawnApplied       = "withdrawn-request-applied"
	BugEpochKept              = "epoch-not-raised"
	BugRenewUnfenced          = "shard-renewed-by-an-earlier-owner"
	BugStateForgotten         = "written-state-not-stored"
	BugAdoptedTwice           = "taken-up-again-and-again"
	BugGatesOpen              = "called-off-unlocked"
	BugCancelledBehindOwnLock = "called-off-behind-its-own-lock"
	BugCleanedUnseen          = "cleanup-unseen"
	BugEndsAlone              = "ends-as-if-alone"
	BugIncarnationIgnored     = "crash-forgotten-when-a-commit-is-settled"
	BugScansTogether          = "cycles-side-by-side"
	BugScanLeft               = "cycle-left-to-another"
	BugNotCancelled           = "called-off-and-left"
	BugEndUnlocked            = "ended-without-its-locks"
	BugReleasedOthers         = "leases-of-others-released"
	BugDeliveriesForgotten    = "deliveries-not-counted"
	BugRenewalWaits           = "extension-waits-with-rows-in-hand" // in eager a completion gives up waiting in such a circle
)

// Bugs that were there, and that a search seldom finds: their cases show them (testdata).
const (
	// What became of an append is read although another has had the shard since it was taken for that.
	BugResolveUnfenced = "looked-after-another-had-the-shard"
	// A request that is not there when it is cancelled never came, whatever a crash may have taken.
	BugCrashedRequest = "crashed-request-never-came"
	// Instances that are submitted are stored in any order.
	BugSubmissionsUnordered = "submissions-in-any-order"
	// Nothing bounds how long a transaction waits for rows out of order: later rounds for counters that others have (push), completions
	// where a round that was cancelled has left its rows to the next (eager).
	BugNoLockTimeout = "later-rounds-wait"
	// The rows of an instance that ends are waited for, whoever has them.
	BugRemovalWaits = "removal-waits"
	// What arguments refer to is read behind the claim, and given to a run that was cancelled in between.
	BugCancelledHandedOut = "called-off-and-given-out"
	// Runs that were seen count as locked, although they were completed before they could be.
	BugSeenCountsAsLocked = "seen-is-held"
	// Who takes a shard in which it had answers lost does not learn that another had it before.
	BugOtherUnseen = "another-had-the-shard-unseen"
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
	{"push", BugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"push", BugAtOrAbove, "each of the arrivals that are committed together finds the count full, and has the barrier go on", "I2 I9 I12"},
	{"push", BugIncrementAlone, "a counter is filled in one transaction, and what goes on then is in another", "I2 I3"},
	{"push", BugReadinessBeforeGuard, "a stale completion counts at the barriers behind it", "I2 I10 I12"},
	{"push", BugInboxOutside, "values are written by a transaction of their own, before the one that has the guard", "I4 I10"},
	{"push", BugLoopReset, "what a round of a loop leaves is not taken away by the next", "I2 I4 I10"},
	{"push", BugEndedTwice, "an instance that has ended takes completions, and ends again", "I7 I12"},
	{"push", BugSweptBack, "a sweep puts runs back that have been completed since it saw them", "I8 I10"},
	{"push", BugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"push", BugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I11"},
	{"push", BugRenewalInWordsOnly, "a renewed lease ends when it would have without that", "I11"},
	{"push", BugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"push", BugUnknownIsFailure, "a commit whose reply was lost counts as one that was not applied", "I3"},
	{"push", BugUnknownIsSuccess, "a commit whose reply was lost counts as one that was applied", "I8"},
	{"push", BugStaleDrops, "one stale completion of a call takes the others with it", "I3"},
	{"push", BugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"push", BugAttemptsForgotten, "who takes a lease over begins to count attempts anew", "I4"},
	{"push", BugDeliveriesForgotten, "who takes a lease over does not count it as a delivery", "I14"},
	{"push", BugCleanedUnseen, "what an ended instance has left is taken to be gone without another look", "I10"},
	{"push", BugEndsAlone, "who ends an instance does not look whether others are at work on it", "I10"},
	{"push", BugMapOrder, "completions and counters are locked in any order", "D5"},

	{"eager", BugEndsAlone, "who ends an instance does not look whether others are at work on it", "I10"},
	{"eager", BugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"eager", BugIncrementAlone, "a counter is filled in one transaction, and what goes on then is in none", "I2"},
	{"eager", BugLoopReset, "the rows of a loop's body are not reset for the next round", "I2 I4 I10 I12"},
	{"eager", BugEndedTwice, "an instance that has ended takes completions, and ends again", "I7"},
	{"eager", BugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"eager", BugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I3 I11"},
	{"eager", BugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"eager", BugUnknownIsFailure, "a commit whose reply was lost counts as one that was not applied", "I3 I8"},
	{"eager", BugUnknownIsSuccess, "a commit whose reply was lost counts as one that was applied", "I8"},
	{"eager", BugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"eager", BugAttemptsForgotten, "who takes a lease over begins to count attempts anew", "I4"},
	{"eager", BugDeliveriesForgotten, "who takes a lease over does not count it as a delivery", "I14"},
	{"eager", BugMapOrder, "rows are locked in any order", "D5"},
	{"eager", BugCancelledBehindOwnLock, "a commit that cancels runs waits for those at work after it has locked its own", "D5"},
	{"eager", BugGatesOpen, "runs that are cancelled are not locked first", "I2 I4 I10 I12"},
	{"eager", BugCleanedUnseen, "what an ended instance has left is taken to be gone without another look", "I10"},
	{"eager", BugIncarnationIgnored, "what became of a commit is asked for by a number that a crash has given to another", "I8 I12"},

	{"journal", BugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"journal", BugEpochIgnored, "an append does not ask whose the shard is", anyOfThem},
	{"journal", BugEpochNoKey, "the owner of a shard may change between an append's look at the epoch and its commit", anyOfThem},
	{"journal", BugEpochKept, "who takes a shard over has the epoch of the owner before", anyOfThem},
	{"journal", BugRenewUnfenced, "an owner renews the lease of what has become another's shard", anyOfThem},
	{"journal", BugLeasesForgotten, "who takes a shard over does not heed the leases that stand with it", anyOfThem},
	{"journal", BugReplayOrder, "events are replayed in another order than that in which they happened", anyOfThem},
	{"journal", BugWithdrawnApplied, "the owner applies a request that was withdrawn", anyOfThem},
	{"journal", BugStateForgotten, "the state of an instance that leaves memory is not stored", anyOfThem},
	{"journal", BugAdoptedTwice, "a new instance is adopted again and again", anyOfThem},
	{"journal", BugUnknownIsFailure, "an append whose reply was lost counts as one that was not applied", anyOfThem},
	{"journal", BugUnknownIsSuccess, "an append whose reply was lost counts as one that was applied", anyOfThem},
	{"journal", BugNeverReclaimed, "a shard whose owner is gone is never given to anybody else", anyOfThem},
	{"journal", BugEndedTwice, "an instance that has ended ends again", anyOfThem},
	{"journal", BugAttemptsForgotten, "that a run is to be tried again is not written down", anyOfThem},
	{"journal", BugDeliveriesForgotten, "that a run is delivered again is not written down", "I14"},
	{"journal", BugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},

	{"pull", BugTokenIgnored, "a completion is applied whatever token it has: in the place of another, or of another attempt", "I3 I4"},
	{"pull", BugScansTogether, "two cycles of a shard look at the same time", "D5 I1 I2 I3 I7 I10 I12"},
	{"pull", BugScanLeft, "who finds a cycle under way leaves its own to that, which has looked before", "I2 I7"},
	{"pull", BugNotCancelled, "runs that are cancelled stay in the ledger", "I2 I10"},
	{"pull", BugEndedTwice, "an instance that has ended ends again", "I7"},
	{"pull", BugEndUnlocked, "rows of an instance that ends are not locked before they are taken away", "D5 I10"},
	{"pull", BugNeverReclaimed, "what was leased once is never given to anybody else", "I9"},
	{"pull", BugLeaseNotFenced, "who takes a lease over has the token of the holder before", "I3 I11"},
	{"pull", BugReleasedOthers, "who gives up the leases of a commit whose reply was lost gives up those of others, too", "I3 I11"},
	{"pull", BugRenewalWaits, "a transaction that renews leases holds some of the rows while it waits for others", "D5"},
	{"pull", BugAcknowledged, "completions are answered as applied, and committed a moment later", "I8"},
	{"pull", BugUnknownIsFailure, "a commit whose reply was lost counts as one that was not applied", "I3 I8"},
	{"pull", BugUnknownIsSuccess, "a commit whose reply was lost counts as one that was applied", "I8"},
	{"pull", BugIncarnationIgnored, "what became of a commit is asked for by a number that a crash has given to another", "I8 I12"},
	{"pull", BugNoPolling, "an engine waits for a notification, which is lost, and never looks by itself", "I9"},
	{"pull", BugDeliveriesForgotten, "who takes a lease over does not count it as a delivery", "I14"},
	{"pull", BugAttemptsForgotten, "that a run is to be tried again is not counted", "I4"},

	{"pull:scan=sql", BugLoopReset, "what a round of a loop leaves in the ledger is not taken away", "I2 I4 I10 I12"},
})

// inBothScans adds the bugs of pull that its other scan has as well. That calls runs off with the statement that takes away
// what a round of a loop leaves.
func inBothScans(all []Bug) []Bug {
	for _, b := range all {
		if b.Backend == "pull" && b.Name != BugNotCancelled {
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
