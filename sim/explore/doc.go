// Package explore plays the engine's designs in seeded worlds and looks for schedules that break an invariant.
//
// # Packages
//
//	sim/cases           programs, faults, planted bugs
//	sim/world           calendar, threads, engines, network, faults, trace
//	sim/judge           a model of each instance, and the invariants
//	sim/pgsim           the simulated Postgres; below it, each design's tables and statements
//	sim/internal/shadow for tests: the simulated server compared with Postgres
//	here                designs in worlds, seeds, coverage; past findings as cases (testdata)
//	search              searching on all processors, and shrinking
//
// The designs' code is real; only its surroundings are simulated. If a design promises no deadlocks, none may occur (D5). A panic
// counts as the end of its engine (I12). After the last fault everything must end within its bound (I9), and nothing may be left
// over (I10).
//
// # Searching
//
// Package search plays seeds on all processors. Shrink reduces the case of a violation; Replay shows it in words and as a
// space–time diagram.
//
// # Planted bugs
//
// A bug can be planted in a simulated statement or in the surroundings of the real code. One of the invariants that it names must
// be violated first. The tables show the seeds that ten searches took: the median, and the least and the most. Each search had
// 32,768 seeds of its own.
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
//	renewal-in-words-only                2497 (one search)    –                  –
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
//	shard-renewed-by-an-earlier-owner    –                    –                  89 (11–735)
//	handed-over-leases-forgotten         –                    –                  11 (1–37)
//	replay-out-of-order                  –                    –                  19 (1–66)
//	withdrawn-request-applied            –                    –                  2816 (1240–6120)
//	written-state-not-stored             –                    –                  274 (17–977)
//	taken-up-again-and-again             –                    –                  18 (3–56)
//	called-off-unlocked                  –                    1637 (352–6942)    –
//	cleanup-unseen                       33 (one search)      110 (21–596)       –
//
// The same for pull, with its two scans:
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
//	renewal-waits-with-rows-in-hand           2330 (241–11923)     2374 (245–5357)
//	acknowledged-before-commit                9 (1–33)             9 (1–33)
//	unknown-commit-is-a-failure               11 (1–34)            17 (1–64)
//	unknown-commit-is-a-success               5 (1–34)             6 (1–34)
//	crash-forgotten-when-a-commit-is-resolved 2579 (206–6188)      2963 (99–24816)
//	lost-wake-up                              46 (16–257)          136 (20–905)
//	attempts-forgotten-in-a-crash             137 (1–817)          137 (1–817)
//	loop-reset-forgotten                      –                    417 (49–785)
//
// The command pulley sim --backends all --bug all --seeds 0..32767 prints the same for all designs; one processor plays some ten
// thousand seeds a minute. Package mutants plants bugs in the code of the core and of push and builds the program with each (make
// sim-bugs):
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
// Two mutants of dispatch are found by its own tests and not here, because tasks are short compared with their leases: an expired
// lease that is kept, and a lease that counts from the reply.
//
// A core that forgets to clear a loop's round is not found here in 40,960 seeds: models clear what plans say, and the rest is
// deleted with the instance. The conformance suite finds it.
package explore
