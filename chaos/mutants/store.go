package main

import "slices"

const (
	storeFolder = "internal/pgstore"
	pushFolder  = "engine/backend/postgres/push"
	applySQL    = pushFolder + "/sql/apply.sql"
	claimSQL    = storeFolder + "/sql/queue/claim.sql"
)

func onPush(name string) check { return check{Package: pushFolder, Run: "^TestConformance$/" + name} }

// endless is a check that hangs with the bug until the tests' timeout.
func endless(c check) check {
	c.Args = append(c.Args, "-test.timeout=75s")
	return c
}

func pushTest(name string) check { return check{Package: pushFolder, Run: "^" + name + "$"} }

func storeMutants() []mutant { return slices.Concat(guardMutants(), outcomeMutants()) }

// guardMutants let a stale completion change something.
func guardMutants() []mutant {
	return []mutant{{
		Name: "token-ignored", What: "a completion is applied whatever token it has", Invariant: "I3",
		Edits: []edit{
			{applySQL, `    WHERE q.token = c.token AND i.status = 'running'`, `    WHERE i.status = 'running'`},
			{applySQL, `    WHERE q.ctid = o.at AND q.token = o.token`, `    WHERE q.ctid = o.at`},
		},
		Check: onPush("complete/reclaimed_by_another"), Says: "\"applied\" .* want \"stale\"",
	}, {
		Name: "lease-not-fenced", What: "who takes a lease over has the token of the holder before", Invariant: "I11",
		Edits: []edit{{claimSQL, `token = nextval('tokens'), {lease}`, `token = q.token, {lease}`}},
		Check: onPush("claim/tokens_grow"), Says: "came back after token",
	}, {
		Name: "readiness-before-guard", What: "a stale completion counts at the barriers behind it", Invariant: "I2",
		Edits: []edit{{applySQL, `        AS a (ord, instance_id, node, path, required, hard, soft)
    WHERE a.ord <> ALL ((SELECT ords FROM stale)::int[])`, `        AS a (ord, instance_id, node, path, required, hard, soft)
    WHERE true`}},
		Check: pushTest("TestStaleCountsNothing"), Says: "and changed",
	}, {
		Name: "inbox-outside-the-transaction", What: "values are written by a transaction of their own, before the one that has the guard", Invariant: "I4",
		Edits: []edit{{pushFolder + "/commit.go", `	batch := &pgx.Batch{}
	if begin != "" {`, `	if v := &a.values; v.ord.Len() > 0 {
		const sql = "INSERT INTO inbox (shard, instance_id, variable, path, element, value) SELECT $1, v.* FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::json[]) AS v " +
			"ON CONFLICT (shard, instance_id, variable, path, element) DO UPDATE SET value = excluded.value"
		if _, err := c.b.store.Pool.Exec(ctx, sql, c.shard, &v.instance, &v.variable, &v.path, &v.element, &v.value); err != nil {
			return err
		}
		for _, array := range []*pgstore.Array{&v.ord, &v.instance, &v.variable, &v.path, &v.element, &v.value} {
			array.Reset()
		}
	}
	batch := &pgx.Batch{}
	if begin != "" {`}},
		Check: pushTest("TestStaleClearsNothing"), Says: "and changed",
	}, {
		Name: "ended-twice", What: "an instance that has ended takes completions, and ends again", Invariant: "I7",
		Edits: []edit{
			{applySQL, `    WHERE q.token = c.token AND i.status = 'running'`, `    WHERE q.token = c.token`},
			{applySQL, ` AND r.status = 'running'
        ORDER BY u.instance_id, u.ord`, `
        ORDER BY u.instance_id, u.ord`},
			{pushFolder + "/sweep.go", `	for _, e := range c.shared {`, `	for _, e := range c.shared[:0] {`},
		},
		Check: onPush("complete/ended_instance"), Says: "want \"stale\"",
	}}
}

func outcomeMutants() []mutant {
	return []mutant{{
		Name: "never-reclaimed", What: "what was leased once is never given to anybody else", Invariant: "I9",
		Edits: []edit{{claimSQL, `WHERE q.shard = $1 AND {ready}`, `WHERE q.shard = $1 AND q.owner IS NULL`}},
		Check: endless(onPush("claim/expired_lease")),
		Says:  "Claim: .*deadline exceeded",
	}, {
		Name: "attempts-forgotten-in-a-crash", What: "who takes a lease over begins to count attempts anew", Invariant: "I4",
		Edits: []edit{{claimSQL, `token = nextval('tokens'), {lease}`, `token = nextval('tokens'), attempt = CASE WHEN q.owner IS NULL THEN q.attempt ELSE 1 END, {lease}`}},
		Check: onPush("retry/counted_across_a_crash"), Says: "attempt 1 came; want 2",
	}, {
		Name: "unknown-commit-is-a-failure", What: "a commit whose reply was lost counts as one that was not applied", Invariant: "I3",
		Edits: []edit{{pushFolder + "/complete.go", `		case took && !stale[e.ord]:
			out.Answer(e.ord, backend.Applied)`, `		case took && stale[e.ord] && false:
			out.Answer(e.ord, backend.Applied)`}},
		Check: check{Package: pushFolder, Run: "^TestLostCommit$/^a_step$"}, Says: "I3: .* want all applied",
	}, {
		Name: "unknown-commit-is-a-success", What: "a commit whose reply was lost counts as one that was applied", Invariant: "I8",
		Edits: []edit{{pushFolder + "/complete.go", `			e.token = token
			open = append(open, e)`, `			e.token = token
			out.Answer(e.ord, backend.Applied)`}},
		Check: check{Package: pushFolder, Run: "^TestLostCommit$/^a_step$"}, Says: "I8: .* to be done again",
	}, {
		Name: "stale-member-drops-the-batch", What: "one stale completion of a call takes the others with it", Invariant: "I12",
		Edits: []edit{{applySQL, `    WHERE q.token = c.token AND i.status = 'running'
)`, `    WHERE q.token = c.token AND i.status = 'running' AND (SELECT count(*) FROM queue x, unnest($9::uuid[], $10::int[], $11::text[], $12::bigint[]) AS y (i, n, p, t)
        WHERE x.shard = $1 AND x.instance_id = y.i AND x.node = y.n AND x.path = y.p AND x.token = y.t) = cardinality($8::int[])
)`}},
		Check: onPush("complete/mixed_batch"), Says: "\"stale\" .* want \"applied\"",
	}, {
		Name: "renewal-in-words-only", What: "a renewed lease ends when it would have", Invariant: "I11",
		Edits: []edit{{storeFolder + "/sql/queue/renew.sql", `SET due_at = clock_timestamp() + $7::bigint * interval '1 microsecond'`, `SET due_at = CASE WHEN $7::bigint > 0 THEN q.due_at END`}},
		Check: onPush("renew/keeps_the_lease"), Says: "whose lease was extended was handed out",
	}}
}
