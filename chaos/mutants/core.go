package main

var programs = check{
	Package: "engine/backend/differ", Run: "^TestPrograms$",
	Args: []string{"-backends=memory", "-rapid.seed=1", "-rapid.shrinktime=1s", "-cases=DIR"},
}

func onMemory(name string) check {
	return check{Package: "engine/backend/memory", Run: "^TestConformance$/virtual_clock/" + name}
}

func inBoth(invariants string) []search {
	return []search{{"push", invariants}, {"journal", invariants}}
}

func coreMutants() []mutant {
	return []mutant{{
		Name: "spread-index-ignored", What: "every result of a spread arrives as that of the first element", Invariant: "I6",
		Edits: []edit{{"engine/plan/walk.go", `		index = path.Cut(to.Depth + 1).Last()`, `		index = 0`}},
		Check: programs, Says: "I7: result",
		Sim: inBoth("I4 I6 I7 I12"),
	}, {
		Name: "aggregate-in-order-of-arrival", What: "a list has its elements in the order in which they came", Invariant: "I6",
		Edits: []edit{{"engine/plan/walk.go", `	slices.SortFunc(elements, func(a, b Element) int { return a.Index - b.Index })`, `	for i := range elements {
		elements[i].Index = i
	}`}},
		Check: check{Package: "engine/plan", Run: "^TestSequentialMeaning$"}, Says: "the reference interpreter gives", // a store may return the elements in order
		Sim: inBoth("I4 I7"),
	}, {
		Name: "aggregate-count-off-by-one", What: "an aggregate waits for one element less than there are", Invariant: "I6",
		Edits: []edit{{"engine/plan/forks.go", `Required: len(elements)})`, `Required: max(1, len(elements)-1)})`}},
		Check: programs, Says: "is not the reference's model",
		Sim: inBoth("I4 I7 I12"),
	}, {
		Name: "empty-spread-never-enqueued", What: "a spread over nothing does not wake its aggregate", Invariant: "I9",
		Edits: []edit{{"engine/plan/forks.go", `		w.leave(agg, s)
		return`, `		return`}},
		Check: programs, Says: "is not the reference's model",
		Sim: inBoth("I9"),
	}, {
		Name: "loop-reset-forgotten", What: "what a round of a loop leaves is not taken away by the next", Invariant: "I10",
		Edits: []edit{{"engine/plan/forks.go", `	if kind == graph.Back {
		depth`, `	if kind == graph.Back {
		return
	}
	if kind == graph.Back {
		depth`}},
		Check: onMemory("clear/a_loop_holds"), Says: "round",
	}, {
		Name: "enqueue-at-or-above-required", What: "a counter that is past its count enqueues again, and none is refused", Invariant: "I2",
		Edits: []edit{
			{"engine/plan/regions.go", `	if after == required {`, `	if after >= required {`},
			{"engine/backend/postgres/push/sql/apply.sql", `a.completed = a.required OR`, `a.completed >= a.required OR`},
			{"engine/backend/postgres/push/migrations/0002_push.sql", `CHECK (completed <= required)`, `CHECK (completed >= 0)`},
		},
		Check: check{Package: "engine/backend/postgres/push", Run: "^TestOverflow$"}, Says: "want applied refused applied refused applied",
	}, {
		Name: "error-not-caught-by-type", What: "a handler takes every error, whatever types it names", Invariant: "I4",
		Edits: []edit{{"engine/graph/graph.go", `e.Kind == Exception && namesType(e.Types, typ) {`, `e.Kind == Exception {`}},
		Check: programs, Says: "is not the reference's model",
		Sim: inBoth("I4 I7"),
	}, {
		Name: "value-not-written", What: "what a completion brings is not kept for those behind the next barrier", Invariant: "I4",
		Edits: []edit{{"engine/plan/walk.go", `		if w.p.live.In(id, slot.Var) && w.p.nodes[id].item != slot.Var {`, `		if false && w.p.live.In(id, slot.Var) && w.p.nodes[id].item != slot.Var {`}},
		Check: programs, Says: "is not the reference's model",
		Sim: inBoth("I4 I7"),
	}}
}
