package main

const dispatchFolder = "engine/dispatch"

var promises = check{Package: dispatchFolder, Run: "^TestMachineKeepsItsPromises$", Args: []string{"-rapid.seed=1", "-rapid.shrinktime=1s", "-rapid.nofailfile"}}

func engineMutants() []mutant {
	return []mutant{{
		Name: "acknowledged-before-commit", What: "completions are answered as applied, and committed a moment later", Invariant: "I8",
		Edits: []edit{{pushFolder + "/complete.go", `	out := pgstore.NewOutcomes(len(completions))
	events := b.completed`, `	if grant.Max > 0 {
		early := backend.Committed{More: true}
		for range completions {
			early.Outcomes = append(early.Outcomes, backend.Outcome{Answer: backend.Applied})
		}
		mine, later := slices.Clone(completions), grant
		later.Max = 0
		time.AfterFunc(100*time.Millisecond, func() { _, _ = b.Complete(context.WithoutCancel(ctx), shard, mine, later) })
		return early, nil
	}
	out := pgstore.NewOutcomes(len(completions))
	events := b.completed`}},
		Check: check{Case: "kills.json", Seeds: 3},
	}, {
		Name: "expired-lease-kept", What: "a task whose lease ran out here continues", Invariant: "I11",
		Edits: []edit{{dispatchFolder + "/leases.go", `			case expired:
				m.expire(t)`, `			case expired:
				m.unwatch(t)`}},
		Check: promises, Says: "held unwatched",
	}, {
		Name: "renewed-from-the-reply", What: "a renewed lease is taken to begin with the reply, not with the call", Invariant: "I11",
		Edits: []edit{{dispatchFolder + "/reply.go", `			t.task.Expires = c.sent.Add(m.cfg.Lease)`, `			t.task.Expires = now.Add(m.cfg.Lease)`}},
		Check: promises, Says: "I11: .* seems to be held",
	}, {
		Name: "failed-commit-forgotten", What: "what a failed call was to commit is held, and never offered again", Invariant: "I9",
		Edits: []edit{{dispatchFolder + "/reply.go", `		s.limit = max(1, len(c.tasks)/2)
		m.reoffer(s, c.tasks)`, `		s.limit = max(1, len(c.tasks)/2)`}},
		Check: promises, Says: "completions are in flight, \\d+ are committing",
		Sim: inBoth("I9"),
	}, {
		Name: "canary-synchronous-commit-off", What: "the server acknowledges commits before they are on disk, and is killed", Invariant: "I8",
		Edits: []edit{{"chaos/world/server.go", `	settings := map[string]string{"max_connections"`, `	settings := map[string]string{"synchronous_commit": "off", "wal_writer_delay": "10s", "max_connections"`}},
		Check: check{Case: "server-killed.json", Seeds: 3},
	}}
}
