package main

import "slices"

var twoCommits = edit{pushFolder + "/commit.go", `	for err == nil && len(c.continuations) > 0 {
		if events`, `	for err == nil && len(c.continuations) > 0 {
		if _, err = conn.Exec(ctx, "COMMIT"); err == nil {
			_, err = conn.Exec(ctx, "BEGIN")
		}
		if err != nil {
			return err
		}
		if events`}

func hazard(name string) check { return check{Package: "engine", Run: "^" + name + "$/^push$"} }

func otherEngineMutants() []mutant {
	return slices.Concat(queueMutants(), taskGraphMutants(), laterMutants())
}

// queueMutants come from River, DBOS, Vercel's Workflow and Absurd, which are or use job queues.
func queueMutants() []mutant {
	return []mutant{{
		Name: "river-1302-sweeper-overwrites-finished", What: "a sweep puts stuck runs back that have been completed since it saw them", Invariant: "I1",
		Edits: []edit{{pushFolder + "/sweep.go", `	return b.sweeper.Sweep(ctx, shard)`, `	const rescue = "WITH stuck AS MATERIALIZED (SELECT * FROM queue WHERE shard = $1 AND due_at <= clock_timestamp()), a AS MATERIALIZED (SELECT count(*), pg_sleep(0.01) FROM stuck) " +
		"INSERT INTO queue AS q (token, due_at, instance_id, node, attempt, shard, path, args) SELECT s.token, s.due_at, s.instance_id, s.node, s.attempt, s.shard, s.path, s.args FROM a, stuck s " +
		"ON CONFLICT (shard, instance_id, node, path) DO UPDATE SET due_at = excluded.due_at"
	if _, err := b.store.Pool.Exec(ctx, rescue, shard); err != nil {
		return backend.Swept{}, postgres.Explain(err)
	}
	return b.sweeper.Sweep(ctx, shard)`}},
		Check: onPush("sweep/finished_concurrently"), Says: "I1: .* handed out again",
	}, {
		Name: "river-1258-dispatched-then-crashed", What: "what a commit leased to an engine that dies is never given to another", Invariant: "I9",
		Edits: []edit{{applySQL, `coalesce(f.wait, $6::bigint)`, `coalesce(f.wait, 100 * $6::bigint)`}},
		Check: check{Case: "kills.json", Seeds: 3},
	}, {
		Name: "river-1318-old-rows-starve-the-sweep", What: "a claim looks at the oldest rows only, which are none that it may take", Invariant: "I9",
		Edits: []edit{{claimSQL, `AND i.status = 'running' AND q.due_at <= statement_timestamp()`, `AND i.status = 'running' AND q.due_at <= statement_timestamp()
        AND q.due_at <= (SELECT max(o.due_at) FROM (SELECT x.due_at FROM queue x WHERE x.shard = $1 ORDER BY x.due_at LIMIT $2) o)`}},
		Check: pushTest("TestBacklogOfEndedInstances"), Says: "I9: .* not claimed",
	}, {
		Name: "dbos-java-491-live-work-run-again", What: "recovery takes the work of a slow engine whose lease has not ended", Invariant: "I11",
		Edits: []edit{{claimSQL, `q.due_at <= statement_timestamp()`, `q.due_at <= statement_timestamp() + interval '900 milliseconds'`}},
		Check: check{Case: "slow-owner.json", Seeds: 3},
	}, {
		Name: "vercel-workflow-3081-two-commits", What: "a counter is filled in one transaction, and what it makes ready is queued in the next", Invariant: "I2",
		Edits: []edit{twoCommits},
		Check: hazard("TestHazardReadyButNeverQueued"), Says: "ready and not queued",
	}, {
		Name: "vercel-workflow-4210-cut-between-two-commits", What: "the same, and the connection is cut between the two: the instance never continues", Invariant: "I9",
		Edits: []edit{twoCommits},
		Check: check{Package: pushFolder, Run: "^TestLostCommit$/^opens_a_barrier$"}, Says: "I9: .* nothing of them is queued",
	}, {
		Name: "absurd-61-lost-wake-up", What: "an engine waits for a notification, which is lost, and never looks by itself", Invariant: "I9",
		Edits: []edit{{dispatchFolder + "/decide.go", `	return !now.Before(s.poll) || !s.due.IsZero() && !now.Before(s.due)`, `	return !s.due.IsZero() && !now.Before(s.due)`}},
		Check: hazard("TestLostWakeUp"), Says: "I9: without a notification",
	}}
}

func taskGraphMutants() []mutant {
	return []mutant{{
		Name: "pgflow-645-siblings-left", What: "what was queued or runs concurrently with the action that failed the instance stays", Invariant: "I10",
		Edits: []edit{{pushFolder + "/sql/end.sql", `i.needs_cleanup OR i.busy AS left_alone`, `i.needs_cleanup AS left_alone`}},
		Check: onPush("error/the_end_while"), Says: "I10",
	}, {
		Name: "pgflow-621-wrong-timeout", What: "an action has the timeout of another, or none of its own", Invariant: "I4",
		Edits: []edit{{"engine/worker/execute.go", `context.WithTimeoutCause(ctx, node.Timeout, `, `context.WithTimeoutCause(ctx, node.Timeout/2, `}},
		Check: check{Package: "engine", Run: "^TestTimeouts$"}, Says: "it took",
	}, {
		Name: "hatchet-2475-deadlocks-between-hosts", What: "a statement locks the counters of a batch in any order, as that of a map", Invariant: "D5",
		Edits: []edit{{applySQL, `    ORDER BY a.instance_id, a.node, a.path COLLATE "C"
    ON CONFLICT`, `    ORDER BY random()
    ON CONFLICT`}},
		Check: hazard("TestHazardCountersUpsertedInMapOrder"), Says: "deadlock",
	}, {
		// The statement orders the counters. Only the arrays' order decides the order of the queue's rows.
		Name: "hatchet-3906-order-of-arrival", What: "completions of a batch are locked in the order in which they came, as that of a map", Invariant: "D5",
		Edits: []edit{{pushFolder + "/arrays.go", `	slices.SortStableFunc(events, func(a, b *commitEvent) int {`, `	slices.SortStableFunc(events[:0], func(a, b *commitEvent) int {`}},
		Check: pushTest("TestCommitsLockInOrder"), Says: "\\d+ deadlocks between",
	}, {
		Name: "hatchet-1540-retry-spiral", What: "an action that fails is tried again without end", Invariant: "I4",
		Edits: []edit{{"engine/plan/step.go", `	if retry, ok := n.RetryFor(failure.Type); ok && ev.Attempt <= retry.Count {`, `	if retry, ok := n.RetryFor(failure.Type); ok {`}},
		Check: onMemory("complete/attempts_count"), Says: "cases_complete",
	}, {
		Name: "hatchet-1540-no-backoff", What: "an action that fails is tried again at once", Invariant: "I4",
		Edits: []edit{{"engine/plan/step.go", `	return time.Duration(float64(wait) * (0.9 + 0.2*jitter))`, `	return time.Duration(0 * float64(wait) * (0.9 + 0.2*jitter))`}},
		Check: check{Package: "engine", Run: "^TestRetriesWait$"}, Says: "attempt \\d+ came after",
	}}
}

func laterMutants() []mutant {
	return []mutant{{
		Name: "waymark-132-queue-drained-before-dispatch", What: "what is claimed is out of the queue before it has been done", Invariant: "I8",
		Edits: []edit{{claimSQL, `SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', token`, `SET due_at = CASE WHEN $4::bigint > 0 THEN clock_timestamp() + interval '100 years' END, token`}},
		Check: endless(onPush("claim/tokens_grow")), Says: "Claim: .*deadline exceeded",
	}, {
		Name: "waymark-149-ready-never-queued", What: "of the barriers that a commit fills, only one continues", Invariant: "I2",
		Edits: []edit{{pushFolder + "/commit.go", `	for _, r := range c.reachedBarriers {
		p := c.from`, `	for _, r := range c.reachedBarriers[:min(1, len(c.reachedBarriers))] {
		p := c.from`}},
		Check: hazard("TestHazardReadyButNeverQueued"), Says: "ready and not queued",
	}, {
		Name: "waymark-152-kept-by-its-lease", What: "a lease that is over goes back to nobody but its holder, which hangs", Invariant: "I9",
		Edits: []edit{{claimSQL, `WHERE q.shard = $1 AND {ready}`, `WHERE q.shard = $1 AND (q.owner IS NULL OR q.owner = $3::int)`}},
		Check: endless(hazard("TestHazardStalledInstanceKeptForEverByItsLease")), Says: "stays with the host that leased it",
	}, {
		Name: "awa-246-hot-row", What: "every completion updates its instance's row", Invariant: "D5",
		Edits: []edit{{applySQL, `--]
--[ instances
), created AS (`, `), touched AS (
    UPDATE instances t SET needs_cleanup = t.needs_cleanup WHERE t.shard = $1 AND t.id = ANY ($9::uuid[]) AND EXISTS (SELECT FROM done)
--]
--[ instances
), created AS (`}},
		Check: hazard("TestHazardInstanceRowUpdatedPerCompletion"), Says: "updated \\d+ times",
	}, {
		Name: "multica-7389-heartbeat-on-an-indexed-column", What: "what every commit changes stands in an index", Invariant: "D5",
		Edits: []edit{{pushFolder + "/migrations/0002_push.sql", `-- One row for each barrier with an arrival`, `CREATE INDEX commits_at ON commits (at);

-- One row for each barrier with an arrival`}},
		Check: check{Package: "engine", Run: "^TestHeartbeatOnAnIndexedColumn$"}, Says: "left the indexes alone",
	}, {
		Name: "job-queue-benchmarking-dead-after-a-restart", What: "an engine whose calls failed while the server was restarted makes none again", Invariant: "I9",
		Edits: []edit{{dispatchFolder + "/queue.go", `func (p *pause) isOver(now time.Time) bool { return !now.Before(p.until) }`, `func (p *pause) isOver(now time.Time) bool { return p.fails == 0 && !now.Before(p.until) }`}},
		Check: check{Case: "server-restarted.json", Seeds: 3},
		Sim:   inBoth("I9"),
	}}
}
