// Package engine runs durable workflows on a store. This page is the map of the whole module.
//
// Pulley answers one question with evidence: how does a durable workflow scheduler on Postgres behave if it pushes readiness, and
// if it pulls? How fast is it, at what cost, and does it lose anything when it is killed? The module holds a complete engine,
// published designs behind one contract, and the tools that measure and check them.
//
// # Using the engine
//
// An [Engine] is used once: [New], [Engine.Start], [Engine.Stop]. In between, [Engine.Submit] stores an instance, [Engine.Wait]
// returns its end, and [Engine.Cancel] ends it early. Several engines, in one process or many, may share a store. Each node run
// is applied once, whichever engines execute it, and whatever fails.
//
// One goroutine decides. It owns the machine of package dispatch, passes events to it and executes its commands. Each running
// task and each call of the backend has a goroutine that ends with one event; the machine bounds their number. More goroutines
// listen for other engines' work, if the backend can, look up awaited instances that may end elsewhere, take turns with due schedules,
// with Config.Schedules, wake node runs whose signals have come, with Config.Signals, and delete old instances, with Config.Retention.
// None is left when Done is closed.
//
// A failed call of the store is retried with growing pauses, without end. An id or a token guards every call, so that a
// repetition is harmless. A failed action becomes a failure in the workflow. Neither ends the engine, and Config.Observer
// receives both.
//
// # How data flows
//
//	IR text ── ir ──┐                   ┌── worker: runs actions ◄─┐
//	Go builder ─────┼─► graph ─► engine ┤                          │ tasks made ready, leased
//	WfFormat ───────┘     (the shell)   └── dispatch ─► backend ───┘
//	                                                    │  its commit: plan (the core) decides,
//	                                                    │  and the decision is stored
//	                                                    └─► Postgres, or memory
//
// Within the backend's commit, the core turns a completion into a plan.Plan. The backend stores it whole or not at all, and
// returns the tasks that it made ready to the workers. A schedule only submits instances: package schedule decides which, and the
// backend keeps where each schedule stands. Scenarios are data; their runners write records; reports render records
// and run nothing.
//
// # Packages
//
// A package may import the packages of this module that its row names, and those that these may import. A test compares this
// table with the code; each package that a row names must be imported. "planned" marks a package that does not exist yet.
//
//	package                    | purpose                                                        | may import
//	engine/ir                  | text to syntax tree, with positions and limits; printer        | –
//	engine/ir/programs         | programs of the whole language, at random; printed as Python   | engine/ir
//	engine/expr                | JSON values and Starlark expressions, both bounded             | engine/ir
//	engine/graph               | the compiled workflow; builder; DOT and Mermaid                | engine/expr
//	engine/reference           | the definition of a workflow's result: a direct interpreter    | engine/expr, internal/clip
//	engine/oracle              | histories of runs, and the oracles that judge them             | engine/graph, engine/reference
//	engine/plan                | the core: graph, event and inbox in, plan out                  | engine/graph
//	engine/plan/model          | the plainest thing that obeys plans, for simulators and tests  | engine/plan
//	engine/schedule            | decides when instances start at planned times; pure              | internal/nearest
//	engine/schedule/model      | the plainest definition of ticks, for tests                    | –
//	engine/schedule/turn       | an engine's turn with due schedules, in steps that survive kills | engine/backend, internal/clip
//	engine/limit               | decides how engines share limits; pure                         | –
//	engine/signal              | lets node runs wait for signals, on any store                   | engine/worker
//	engine/backend             | the contract that every design implements                      | engine/limit, engine/plan, engine/schedule
//	engine/backend/backendtest | the conformance suite that every backend passes                | engine/backend, internal/depth
//	engine/backend/differ      | holds a backend against the reference, one case at a time      | engine/oracle, engine/ir/programs, engine/worker
//	engine/backend/state       | instances in memory: plans applied, and taken back             | engine/backend
//	engine/backend/memory      | in-process and crashable; nothing is durable                   | engine/backend/state
//	engine/backend/postgres    | where designs on Postgres keep their tables; errors explained   | –
//	engine/backend/postgres/*  | one design each                                                | engine/backend/state, internal/pgshow, internal/schedulestore, internal/signalstore
//	engine/backend/postgres/push | the design that counts readiness in rows, with limits            | internal/limitstore, internal/pgshow, internal/schedulestore, internal/signalstore
//	engine/backend/postgres/internal/designtest | what tests of the designs on Postgres share                  | engine/backend/backendtest, internal/pgshow, internal/pgstore, internal/pgtest
//	engine/backend/postgres/journal | the design whose shards have owners                            | engine/backend/postgres/journal/internal/forward, engine/backend/postgres/journal/internal/ownership, engine/backend/state, internal/journalstore, internal/limitstore, internal/pgshow, internal/schedulestore, internal/signalstore
//	engine/backend/postgres/journal/internal/forward | its calls to a shard that another engine owns                  | internal/pgstore
//	engine/backend/postgres/journal/internal/ownership | who owns which of its shards, in the store                      | internal/pgstore
//	engine/backend/designs     | names a design and its options, as a user does, and opens it   | engine/backend/memory, engine/backend/postgres/*, internal/nearest
//	engine/dispatch            | pure state machine for slots, batches, leases and timers       | engine/backend
//	engine/worker              | executors of actions; the built-in ones                        | engine/backend, internal/nearest, internal/pause
//	engine/worker/workertest   | the contract suite of all executors of actions                 | engine/worker, internal/pause
//	engine/worker/procgroup    | processes that end with us, and take their children along      | internal/pause, internal/procenv, internal/watchdog
//	engine/worker/protocol     | reads and writes the lines of the worker protocol               | engine/worker, internal/lines
//	engine/worker/pool         | runs actions in long-lived workers, in any language            | engine/worker/procgroup, engine/worker/protocol
//	engine/worker/pool/check   | tells the author of a worker what it does wrong                | engine/worker/procgroup, engine/worker/protocol
//	engine/worker/process      | runs actions as programs, a process for each attempt           | engine/worker, engine/worker/procgroup, internal/cause
//	engine/worker/httpjob      | runs actions as jobs behind an HTTP API                         | engine/dispatch, engine/worker, internal/clip, internal/pause
//	engine/worker/httpjob/jobserver | a server of such jobs in memory, with faults, for tests          | –
//	engine/worker/manifest     | files that say how actions are run that are not written in Go  | engine/worker/httpjob, engine/worker/pool, engine/worker/process, internal/cause, internal/yamlfile
//	engine                     | the shell: life cycle, goroutines, wiring; this page           | engine/dispatch, engine/schedule/turn, engine/signal
//	engine/metrics             | counts what an engine does, for Prometheus                     | engine
//	engine/metrics/export      | sends those numbers to a collector of OpenTelemetry             | engine/metrics, internal/telemetry
//	engine/spans               | records what engines do, as spans of OpenTelemetry              | engine, internal/clip, internal/telemetry
//	engine/inspect             | says what an instance waits for, from a snapshot of the store   | engine/dispatch, engine/worker, internal/plural
//	engine/pgserver            | finds a Postgres, or starts one that dies with the program     | internal/pause, internal/watchdog
//	engine/pgserver/pgwire     | a proxy that sees every message, and loses it if it is told to | –
//	scenarios                  | workloads as data, with what a right scheduler comes to        | engine/reference, scenarios/arrivals, scenarios/behaviour, scenarios/generate, scenarios/template, internal/yamlfile
//	scenarios/arrivals         | texts of arrival processes, and the times that they intend      | internal/cause, internal/clip, internal/nearest
//	scenarios/template         | values of such files that have expressions in them              | engine/expr, internal/yamlfile
//	scenarios/dist             | distributions that are written as text                          | internal/bytesize, internal/nearest
//	scenarios/behaviour        | actions that take time, fail and give what a scenario says      | engine/worker, engine/reference, scenarios/dist, scenarios/template, scenarios/wfformat, internal/pause
//	scenarios/generate         | writes workflows of a shape from parameters and a seed           | engine/graph, scenarios/dist, internal/nearest
//	scenarios/wfformat         | traces of real workflows: read, written, generated             | engine/graph
//	chaos/fault                | kinds of faults, by what they hit                                 | engine/pgserver, engine/pgserver/pgwire, internal/nearest, internal/pause
//	chaos/fault/inject         | injects the faults of plans into runs, and goes to every message  | chaos/fault
//	chaos/hosts                | containers for engines, which can be paused, killed, cut off    | engine/pgserver
//	chaos/cases                | runs of chaos as data, and their plans of faults               | chaos/fault, scenarios, engine/backend/designs
//	chaos/process              | an engine in a process of its own, and both ends of the pipe to it | engine, chaos/cases, internal/pause, engine/oracle
//	chaos/world                | what a run happens to: server, engines and their wires         | chaos/process, chaos/hosts
//	chaos/recovery             | how work came back after faults, held against what is promised | engine/oracle, chaos/fault, reports/record
//	chaos/mutants              | plants bugs, and shows that the checks find them               | –
//	chaos                      | scenarios under faults, in processes, to history, check, verdict | chaos/world, chaos/recovery, chaos/fault/inject, bench/measure
//	reports/record             | the schema of results, units in its names                      | internal/cause
//	reports/serve              | shows records, or instances of a store, to a browser             | reports, reports/page, reports/units, internal/live, internal/pause
//	reports/units              | numbers and times as people read them                          | –
//	reports/diagram            | lays out graphs in layers                                      | –
//	reports/chart              | draws figures for pages, papers and terminals                  | reports/diagram, reports/record, reports/units
//	reports/page               | a report, laid out once; as HTML, Markdown and text            | reports/chart, internal/aligned
//	reports/changes            | pages on what changed: gates, histories, two records           | bench/gate, bench/history, reports/page
//	reports/verdicts           | pages on chaos, simulations, forecasts, nights and claims      | bench/claim, reports/page, reports/record, internal/plural
//	reports/instances          | pages on instances of a store                                  | bench/outline, engine/inspect, reports/serve
//	reports                    | renders records                                                | reports/changes, reports/verdicts, bench/claim, bench/histogram
//	bench/stats                | medians, intervals, ratios, slopes                             | bench/profile, reports/record, internal/plural
//	bench/histogram            | histograms of latencies, and their logs: written and read      | reports/record
//	bench/measure              | Postgres' own counters, and what sessions wait for             | reports/record, internal/pause, internal/plural, internal/procstatus
//	bench/outline              | compiled workflows reduced to what is seen at a glance          | engine/graph, reports/record
//	bench/ceiling              | what raw SQL can do for the rows of the designs                | engine/backend/postgres, engine/backend/postgres/*, bench/stats, bench/histogram, bench/measure
//	bench/pressure             | what production puts on a store beside the load                | engine/pgserver/pgwire, scenarios
//	bench/changepoint          | where the distribution of a series changes                     | –
//	bench/gobench              | results in Go's benchmark format, as series per benchmark and unit | internal/cause
//	bench/load                 | offers requests at their times; judges what came of them        | scenarios/arrivals, bench/stats, bench/stages
//	bench/profile              | samples what processor time goes into, by stage of a node run  | –
//	bench/systems              | measures systems behind adapters                               | adapter/host, adapter/protocol, adapter/workload, bench/histogram, bench/measure
//	bench/stages               | how long the stages of node runs took                          | engine/graph
//	bench/history              | what runs measured over months, and where it changed            | bench/changepoint, bench/gobench, bench/stats, reports/record, internal/clip
//	bench/knee                 | finds the highest rate at which a latency objective holds        | scenarios
//	bench/usl                  | fits the Universal Scalability Law to throughputs                 | bench/stats
//	bench                      | runs scenarios on backends, checked; comparisons               | engine, engine/backend/designs, scenarios, bench/stats, bench/histogram, bench/measure, bench/outline, bench/ceiling, bench/load, bench/pressure, bench/profile, bench/stages, bench/systems, engine/plan/model, adapter/host, adapter/protocol, adapter/workload
//	bench/capacity             | finds knees of scenarios, and how throughput scales             | bench, bench/knee, bench/usl
//	bench/claim                | a claim's figures, what is claimed of each, and verdicts        | bench/stats, reports/record
//	bench/claims               | published claims, and our goals, held against measurements     | bench, bench/claim, internal/pause
//	bench/gate                 | decides whether a candidate is worse than a baseline            | bench/stats, bench/gobench, internal/aligned
//	bench/gate/pairs           | builds two revisions, and lets programs take turns               | –
//	sim                        | a seeded world in virtual time around the same code            | engine/dispatch, engine/backend/memory, engine/plan/model, scenarios, scenarios/arrivals, scenarios/dist, engine/reference, engine/oracle
//	sim/gantt                  | draws schedules                                                | sim
//	sim/db                     | a database of the simulator: transactions, locks, crashes      | –
//	sim/cases                  | what simulated worlds are made from: programs, faults, planted bugs | engine/ir/programs, scenarios
//	sim/world                  | a world of engines, server, network and faults, in virtual time | engine/dispatch, internal/pgstore, sim/cases, sim/db
//	sim/judge                  | holds what happens in a world against the invariants           | engine/plan/model, sim/world
//	sim/pgsim                  | Postgres as designs see it in a world, and what they share of it | sim/judge
//	sim/pgsim/*                | the tables and the statements of one design each, simulated    | engine/backend/postgres/*, internal/journalstore, sim/pgsim
//	sim/internal/fingerprint   | tells when a statement has changed that a simulated one is for | –
//	sim/internal/shadow        | holds simulated statements against Postgres, for tests         | internal/pgtest, sim/pgsim
//	sim/explore                | designs in worlds full of faults, seed by seed, every step checked | sim/pgsim/*
//	sim/explore/search         | plays worlds until one violates an invariant, and makes it smaller | sim/explore
//	sim/lines                  | names the lines of the deciding code that simulations never reach | –
//	adapter                    | lets an author in Go write an adapter for another system       | adapter/protocol, internal/lines, internal/pause
//	adapter/protocol           | messages of the adapter protocol, and workloads                | –
//	adapter/judge              | holds the history of another system's run against its promises | adapter/protocol
//	adapter/workload           | scenarios and traces as graphs of tasks, for other systems     | adapter/protocol, engine/plan/model, scenarios
//	adapter/host               | starts adapters, speaks the adapter protocol, ends them        | adapter/protocol, engine/pgserver/pgwire, engine/worker/procgroup, engine/worker/protocol, internal/clip, internal/nearest
//	adapter/check              | tells the author of an adapter what it does wrong              | adapter/host, internal/pause, internal/plural
//	adapter/own                | our own designs as systems behind adapters                     | adapter, engine, engine/backend/designs, internal/pause
//	adapter/named              | finds the adapters of systems that users name                  | adapter/host, engine/backend/designs
//	adapter/trial              | disturbs systems behind adapters, and has them judged          | adapter/host, adapter/judge, bench/measure, chaos/fault/inject, internal/aligned
//	adapter/mutants            | bugs to plant in the reference adapter, and the tests of that adapter | –
//	python                     | carries the Python package, and asks it about workflows in Python  | engine/expr, internal/cause
//	examples/embedded          | a program that embeds the engine and one scheduler             | engine, engine/backend/postgres/*, internal/procstatus
//	examples/processes         | a program that embeds the engine, and whose tasks are processes | engine, engine/backend/postgres/*, engine/worker/process, internal/procstatus
//	examples/adapters/queue    | an adapter in Go, and the queue on Postgres that it drives     | adapter
//	examples/pipeline          | the pipeline of the push design's description, as programs      | –
//	cmd/pulley                 | flags to configuration to run                                  | any
//	cmd/pulley/*               | a group of pulley's commands each, and the console that they share | any
//	cmd/suite                  | runs our own tests: before a change, and through the night     | any
//	internal/aligned           | lays out text in columns                                       | –
//	internal/browsertest       | opens pages in a browser, for tests                            | internal/depth
//	internal/bytesize          | reads numbers of bytes as people write them                    | –
//	internal/cause             | takes out of errors what their readers are told already        | –
//	internal/clip              | keeps quoted text short                                        | –
//	internal/depth             | says whether tests go as deep as a change needs, or a night     | –
//	internal/journalstore      | what the journal stands on, and what it stores there           | internal/pgstore
//	internal/limitstore        | limits on Postgres, shared by designs that have them            | internal/pgstore
//	internal/live              | shows how far a run is: on a terminal, in a log, in a file        | reports/record
//	internal/lines             | splits a stream into lines of bounded length                   | –
//	internal/nearest           | finds what was probably meant by an unknown word                | –
//	internal/pause             | waits                                                          | –
//	internal/pgbouncer         | a PgBouncer, for tests                                         | internal/pause, internal/watchdog
//	internal/pgdial            | connects to Postgres, directly or through a pooler              | engine/backend/postgres
//	internal/pgimage           | an image of Postgres for tests, of Debian's packages           | internal/pause
//	internal/pgshow            | reads what designs store of instances, for people               | internal/pgstore
//	internal/pgstore           | what the designs on Postgres share: pool, migrations, codecs   | engine/backend, internal/pgdial
//	internal/pgtest            | a server, and a database for each test                         | engine/pgserver, engine/pgserver/pgwire, internal/pgimage, internal/depth
//	internal/plural            | writes numbers of things                                       | –
//	internal/procenv           | finds processes by a variable in their environment             | internal/pause
//	internal/procstatus        | reads what the kernel says of this process's memory             | –
//	internal/schedulestore     | schedules on Postgres, shared by the designs                    | internal/pgstore
//	internal/referencetest     | programs and actions for tests of results                      | engine/reference
//	internal/signalstore       | signals on Postgres, shared by the designs                      | internal/pgstore
//	internal/telemetry         | describes an engine to OpenTelemetry                            | –
//	internal/watchdog          | shells that clean up when this process is gone                 | –
//	internal/yamlfile          | YAML whose values know their places, and all mistakes at once   | engine/ir, internal/bytesize, internal/clip, internal/nearest
//
// A package's tests may also import:
//
//	tests of                   | may import, too
//	every package              | internal/pgtest, internal/depth
//	engine/ir/programs         | engine/graph
//	engine/graph               | engine, engine/backend/memory
//	engine/reference           | internal/referencetest
//	engine/oracle              | internal/referencetest
//	engine/plan                | engine/ir/programs, engine/plan/model, engine/reference
//	engine/schedule            | engine/schedule/model
//	engine/schedule/turn       | engine/backend/memory, engine/schedule/model
//	engine/signal              | engine, engine/backend/memory
//	engine/backend/backendtest | engine/backend/memory
//	engine/backend/differ      | engine/backend/designs
//	engine/backend/state       | engine/backend/backendtest, engine/ir/programs, engine/plan/model
//	engine/backend/memory      | engine/backend/backendtest
//	engine/backend/postgres    | engine/backend/postgres/*
//	engine/backend/postgres/*  | engine/backend/backendtest, engine/backend/postgres/*, engine/backend/postgres/internal/designtest
//	engine/backend/postgres/journal | engine/backend/backendtest, engine/backend/postgres/internal/designtest
//	engine/backend/postgres/push | engine/backend/backendtest, engine/backend/postgres/*, engine/backend/postgres/internal/designtest
//	engine/dispatch            | engine/backend/memory
//	engine                     | engine/backend/backendtest, engine/backend/designs, internal/procstatus
//	engine/metrics             | engine/backend/memory
//	engine/spans               | engine/backend/memory
//	engine/inspect             | engine/backend/designs
//	engine/worker              | engine/worker/workertest
//	engine/worker/manifest     | engine/worker/httpjob/jobserver, engine, engine/backend/designs
//	engine/worker/process      | engine/worker/workertest, internal/procenv
//	engine/worker/pool         | engine, engine/backend/memory, engine/worker/workertest
//	engine/worker/httpjob      | engine/worker/httpjob/jobserver, engine/worker/workertest, engine, engine/backend/designs
//	scenarios                  | engine/backend/backendtest, engine/backend/memory
//	scenarios/generate         | engine/backend/backendtest, engine/backend/memory, scenarios/behaviour
//	adapter/mutants            | adapter/protocol, engine/worker/protocol
//	adapter/check              | adapter/own
//	adapter/trial              | adapter/mutants, chaos/world
//	examples/adapters/queue    | adapter/check
//	python                     | engine, engine/backend/designs, engine/ir/programs, engine/reference
//	bench/ceiling              | bench
//	reports                    | internal/browsertest
//	internal/browsertest       | internal/pause, internal/procenv
//	internal/pgbouncer         | engine, engine/backend/backendtest, engine/backend/designs, internal/pgdial
//	reports/serve              | internal/browsertest
//	reports/instances          | engine/backend/designs, internal/browsertest
//	examples/pipeline          | engine, engine/backend/designs, engine/worker/manifest, internal/procenv
//	sim/pgsim                  | sim/internal/fingerprint
//	sim/pgsim/*                | sim/internal/fingerprint, sim/internal/shadow
//
// Package dispatch imports backend, not only plan: its commands are calls of the backend's contract, and a second set of types
// would have to be kept equal to it. Every package below engine may import engine/internal/....
//
// # Decisions
//
// D1. The core decides, the shell acts. plan and dispatch take time and randomness as arguments. The shell, a simulator and the
// tests run the same code.
//
// D2. Designs compete on equal terms. Each backend implements one published design as well as its authors would have. push: a
// node run is queued when completed = required, with one plan per completion. pull: each scan transaction looks for runnable
// nodes again, in the program (scan=app) or with one query (scan=sql). eager: a row for every node up front, which the rounds of
// a loop reuse. journal: readiness in the memory of a shard's owner; a completion is one appended row. memory stores nothing
// durably.
//
// D3. Dispatch is pushed too. A commit returns the tasks that it made ready, leased to this engine as far as it has capacity. One
// notification wakes the other engines. Polling is the safety net.
//
// D4. Group commit. Completions that arrive during a commit share the next one. No timer is on the idle path, and the batch is
// bounded. A batch that fails is halved until the member at fault is alone.
//
// D5. Locks in one order, no hot row. Rows are locked in the order of instance and node. No completion changes its instance's
// row. Order comes from sequences, never from now().
//
// D6. Time belongs to the store. Leases are computed with its clock. The local view ends first, unless the local clock is too
// slow (package dispatch says by how much). The token of a new delivery fences the old worker. A task whose lease has expired
// locally is abandoned.
//
// D7. A lost COMMIT is unknown, neither success nor failure. The row is read back before anything is decided; if that fails, the
// call is repeated under its guard.
//
// D8. Every run can be repeated: seed, configuration and case are stored with the result.
//
// D9. Values are JSON, expressions are Starlark's, with limits. An expression that fails makes its instance fail, with the
// position; it is never a silent null.
//
// D10. No number without its method: how it was measured, over how many runs, with what spread, and whether the run was valid.
//
// D11. Every key begins with the shard, a small number computed from the instance's id. No constraint crosses shards. Each
// commit, claim and renewal concerns one shard.
//
// D12. Bytes stay linear. A completion writes what is new and will be read. A large value is written once and referred to. A list
// that grows in a loop is stored by its elements.
//
// # Invariants
//
// A node run is an instance, a node and a path; an attempt of it has one delivery token.
//
//	I1   A node run is enqueued exactly once; its attempts are deliveries of that.
//	I2   completed ≤ required for every counter, and a node run is enqueued exactly when they meet.
//	I3   Of the completions offered for a node run one is applied, with the token of that moment; every other is stale and changes nothing.
//	I4   An action receives what the reference interpreter would give it.
//	I5   An action starts only after every hard predecessor, and one of each soft group, has committed.
//	I6   An aggregate's list is complete and in element order.
//	I7   An instance ends once, as the reference interpreter says; terminal states never change.
//	I8   Nothing acknowledged is lost, whatever crashes.
//	I9   Once faults stop, every instance ends within the lease, two sweeps and its own work.
//	I10  Nothing is left queued, leased, counted or in an inbox for an instance that has ended.
//	I11  No two owners hold a lease that each may believe valid.
//	I12  A failing, oversized or malformed completion or workflow harms no other instance.
//	I13  Same seed, same configuration: the same trace (simulator).
//	I14  Deliveries of an attempt are counted, never too few; none is begun beyond Config.MaxDeliveries.
package engine
