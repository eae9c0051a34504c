// Package explore plays designs of the engine in seeded worlds of their own, and looks for a schedule that breaks an
// invariant.
//
// # Where it is
//
//	sim/cases     what worlds are made from: programs, faults, planted bugs
//	sim/world     the world: calendar, threads, engines, network, faults, trace
//	sim/judge     what must be: a model of each instance, and the invariants
//	sim/pgsim     the simulated Postgres, and below it the tables and the statements of each design
//	sim/shadow    for tests: a world on Postgres beside the simulated one
//	here          designs put into worlds, seeds played, what was covered; and past findings as cases (testdata)
//	search        seeds on all processors, and violations made smaller
//
// Designs are the real ones: what is simulated is what they stand on. Transactions never wait for each other in a circle, where the
// design says so (D5). A call that panics would take its engine with it (I12). At the end faults are over: everything must end within
// its bound (I9), nothing may be left (I10).
//
// # Searching
//
// Package search plays one seed after the other on all processors. A violation is made smaller by Shrink, and shown by Replay: in
// words, and as a space–time diagram.
//
// # Planted bugs
//
// Bugs can be planted in a design: in a simulated statement, or in what is around the real code, never in that. Each
// names the invariants that it breaks, one of which must be violated first. So many seeds ten searches took in the median, and at
// least and at most, each in 32,768 seeds of its own, when this was written:
//
//	bug                                  push                 eager              journal
//	token-ignored                        4 (1–18)             21 (2–34)          –
//	enqueue-at-or-above-required         66 (1–465)           –                  –
//	increment-and-enqueue-apart          3 (1–49)             17 (1–97)          –
//	readiness-before-guard               32 (6–119)           –                  –
//	inbox-outside-the-transaction        1 (1–5)              –                  –
//	loop-reset-forgotten                 17 (1–49)            25 (1–465)         –
//	ended-twice                          54 (3–233)           42 (5–97)          33 (6–129)
//	sweeper-overwrites-finished          42 (6–271)           –                  –
//	never-reclaimed                      1 (1–2)              10 (1–34)          7 (1–33)
//	lease-not-fenced                     1 (1–2)              9 (1–34)           –
//	extension-in-words-only              2497 (one search)    –                  –
//	acknowledged-before-commit           1 (1–1)              9 (1–33)           9 (1–33)
//	unknown-commit-is-a-failure          5 (1–11)             11 (1–34)          24 (2–162)
//	unknown-commit-is-a-success          6 (1–113)            3 (1–4)            47 (2–300)
//	stale-member-drops-the-batch         34 (6–115)           –                  –
//	lost-wake-up                         14 (2–51)            21 (1–107)         129 (10–701)
//	attempts-forgotten-in-a-crash        69 (1–819)           139 (4–818)        186 (5–817)
//	map-order                            2717 (one search)    910 (62–4039)      –
//	epoch-ignored                        –                    –                  186 (40–684)
//	epoch-is-no-key                      –                    –                  1178 (93–6395)
//	epoch-not-raised                     –                    –                  12 (1–34)
//	shard-renewed-by-an-earlier-owner  –                    –                  89 (11–735)
//	handed-over-leases-forgotten         –                    –                  11 (1–37)
//	replay-out-of-order                  –                    –                  19 (1–66)
//	withdrawn-request-applied            –                    –                  2816 (1240–6120)
//	written-state-not-stored             –                    –                  274 (17–977)
//	taken-up-again-and-again             –                    –                  18 (3–56)
//	called-off-unlocked                  –                    1637 (352–6942)    –
//	tidy-unseen                          33 (one search)      110 (21–596)       –
//
// And of pull, in its two scans:
//
//	bug                                       pull                 pull:scan=sql
//	token-ignored                             20 (5–37)            19 (1–96)
//	cycles-side-by-side                       89 (26–167)          137 (19–194)
//	cycle-left-to-another                     1 (1–4)              1 (1–3)
//	called-off-and-left                       417 (49–785)         –
//	ended-twice                               79 (32–352)          102 (15–201)
//	ended-without-its-locks                   7429 (2653–27224)    3114 (363–13035)
//	never-reclaimed                           12 (1–34)            11 (1–38)
//	lease-not-fenced                          10 (1–34)            10 (1–33)
//	leases-of-others-released                 121 (4–291)          173 (20–364)
//	extension-waits-with-rows-in-hand         2330 (241–11923)     2374 (245–5357)
//	acknowledged-before-commit                9 (1–33)             9 (1–33)
//	unknown-commit-is-a-failure               11 (1–34)            17 (1–64)
//	unknown-commit-is-a-success               5 (1–34)             6 (1–34)
//	crash-forgotten-when-a-commit-is-settled  2579 (206–6188)      2963 (99–24816)
//	lost-wake-up                              46 (16–257)          136 (20–905)
//	attempts-forgotten-in-a-crash             137 (1–817)          137 (1–817)
//	loop-reset-forgotten                      –                    417 (49–785)
//
// The same for all designs is printed by pulley sim --backends all --bug all --seeds 0..32767; a minute of one processor is some
// ten thousand seeds. Bugs of the core, and of push, are planted in their code itself, by package mutants with --sim, which builds the program
// with each (make sim-bugs):
//
//	mutant of package plan               push and journal     by
//	spread-index-ignored                 41 (1–97)            I12, I6
//	aggregate-in-order-of-arrival        249 (17–706), 49     I7, I4
//	aggregate-count-off-by-one           41 (1–97)            I12, I7, I4
//	empty-spread-never-enqueued          49 (1–481)           I9
//	error-not-caught-by-type             225 (1–1649)         I4, I7
//	value-not-written                    57 (1–337)           I7, I4
//
//	mutant of package push               push                 by
//	place-of-an-unclear-commit           396 (72–720)         D7
//	place-of-a-lost-transaction          378 (119–637)        D7
//	called-off-and-handed-out            115 (113–116)        I10
//	moved-and-stale                      332 (289–374)        I3
//	stale-completion-clears              43 (38–47)           I4
//	called-off-unlocked                  1039 (997–1080)      I10
//
//	mutant of package dispatch           push                 journal              by
//	failed-commit-forgotten              1 (1–4)              4 (2–24)             I9
//
// Two mutants of dispatch, a lease that is kept after it is over and one that is renewed from the reply on, are found by its own
// tests of what it promises, and not here: tasks are short beside their leases.
//
// A core that forgets to clear what a round of a loop leaves is not found here, in 40,960 seeds: models clear what plans say,
// and what is left goes with the instance. The conformance suite finds it.
package explore
