package main

func inPush(invariants string) []search { return []search{{"push", invariants}} }

// pushMutants are bugs of push's Go code, which the simulation runs unchanged.
func pushMutants() []mutant {
	return []mutant{{
		Name: "place-of-an-unclear-commit", What: "the place of a mark is given back although nobody knows what became of its commit", Invariant: "D7",
		Edits: []edit{{pushFolder + "/complete.go", `			resolved = unclear == nil
`, `			resolved = true
`}},
		Check: pushTest("TestPlaceOfAnUnclearCommit"), Says: "and place \\d+ is free",
		Sim: inPush("D5 D7 I10"),
	}, {
		Name: "place-of-a-lost-transaction", What: "the place of a mark is given back although the server may still be at its transaction", Invariant: "D7",
		Edits: []edit{{pushFolder + "/complete.go", `	return c == nil || errors.Is(err, errCancelLocks)`, `	return err != nil || errors.Is(err, errCancelLocks)`}},
		Check: pushTest("TestPlaceOfALostTransaction"), Says: "and place \\d+ is free",
		Sim: inPush("D5 D7 I10"),
	}, {
		Name: "called-off-and-handed-out", What: "runs that the transaction itself has cancelled are handed out", Invariant: "I10",
		Edits: []edit{{pushFolder + "/clears.go", `	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return slices`, `	c.result.Tasks = slices.DeleteFunc(c.result.Tasks, func(t backend.Task) bool {
		return false && slices`}},
		Check: pushTest("TestCancelledByItsOwnTransaction"), Says: "is handed out, and the round is over",
		Sim: inPush("I10"),
	}, {
		Name: "moved-and-stale", What: "a completion whose row was being changed is answered as stale", Invariant: "I3",
		Edits: []edit{{pushFolder + "/complete.go", `		if c.retry[e.ord] {`, `		if false && c.retry[e.ord] {`}},
		Check: pushTest("TestMoved"), Says: "want all applied, and what follows",
		Sim: inPush("I3"),
	}, {
		Name: "stale-completion-clears", What: "a stale completion takes away what it would have replaced", Invariant: "I3",
		Edits: []edit{{pushFolder + "/commit.go", `		c.queueDeletes(batch, events, events, false)`, `		c.queueDeletes(batch, events, events, true)`}},
		Check: pushTest("TestStaleClearsNothing"), Says: "and changed",
		Sim: inPush("I2 I4 I6 I7 I12"),
	}, {
		Name: "called-off-unlocked", What: "runs that are cancelled are not locked first", Invariant: "I10",
		Edits: []edit{{pushFolder + "/clears.go", `	if len(all)+len(c.locks.counters) == 0 {
		return false, nil`, `	if all = nil; len(c.locks.counters) == 0 {
		return false, nil`}},
		Check: pushTest("TestCancelWaits"), Says: "node runs are stored; want the handler's",
		Sim: inPush("I1 I2 I4 I7 I10 I12 D5"),
	}}
}
