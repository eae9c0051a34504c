package claims

import "pulley/bench/claim"

const (
	undated     = "the page has no date"
	notSaid     = "not said; by Postgres' default, a commit waits for the disk"
	dbosPage    = "https://www.dbos.dev/blog/benchmarking-workflow-execution-scalability-on-postgres"
	dbosServer  = "AWS RDS db.m7i.24xlarge: 96 vCPUs, 384 GB, io2 volume with 120,000 IOPS; the clients are on another machine"
	dbosFlushes = "settings are not named; the bottleneck was the flush of the write-ahead log, so that commits waited for it"
	graphile    = "https://worker.graphile.org/docs/performance"
	graphileOn  = "one machine with workers and database; the settings were made for an Intel i9-14900K without its efficiency cores"
	jobsDiffer  = "There, all jobs are stored before, and only working them off counts; here, storing them counts as well, and each has a durable result that is checked."
)

// published figures of others, by claim.
var peerFigures = map[string]claim.Published{
	"dbos-point-writes": {
		By: "DBOS", Figure: 144_000, Unit: "rows/s", Hardware: dbosServer, Cores: 96, Durability: dbosFlushes, Date: "2026-04", Address: dbosPage,
		Shape:   "rows inserted one by one, each in a transaction, by many asynchronous clients in Python into a table of three columns with a UUIDv7 as its key",
		Differs: "The same statement on the same table; the client is Go and shares the machine with the server.",
	},
	"dbos-workflows": {
		By: "DBOS", System: "dbos", Figure: 43_000, Unit: "workflows/s", Hardware: dbosServer, Cores: 96, Durability: dbosFlushes, Date: "2026-04", Address: dbosPage,
		Shape:   "workflows without a step, run by the process that starts them: two writes each, at its start and its end; started at a given rate, then drained",
		Differs: "There, DBOS for Python; here, for Go. Here, each workflow has one step, whose result is durable as well, and is submitted when another ends. start=direct, which the search tries, starts workflows as there.",
	},
	"dbos-queue": {
		By: "DBOS", System: "dbos", Figure: 30_600, Unit: "workflows/s", Hardware: dbosServer, Cores: 96, Durability: dbosFlushes, Date: "2026-04", Address: dbosPage,
		Shape:   "queued workflows without a step, four writes each, on several queues; 12,100 workflows/s on one. Both were read in summaries of the page, such as https://hn.213312.xyz/article/47966625",
		Differs: "There, DBOS for Python; here, for Go, on one queue with --setting start=queue, and else as the search finds it to be fastest. Here, each workflow has one step, and is submitted when another ends; our schedulers queue every one.",
	},
	"river-jobs": {
		By: "River", System: "river", Figure: 46_000, Unit: "jobs/s", Hardware: "MacBook Air of 2022, M2 with 8 cores; where the database was is not said", Cores: 8, Durability: notSaid, Date: "2024-03", Address: "https://riverqueue.com/docs/benchmarks",
		Shape: "river bench --num-total-jobs 1_000_000: a million jobs that do nothing, in one process with 2,000 workers",
		Differs: jobsDiffer + " There, River completes jobs in batches in the background (about 10,000 jobs/s before it did, https://github.com/riverqueue/river/pull/258); " +
			"here it does with complete=batch, which the search tries, though two attempts of a job may then both leave a result; else a transaction completes each job with its value, as River documents it. " +
			"River's authors advise against comparing their figure with other systems'; river bench measures River alone on any machine.",
	},
	"graphile-jobs": {
		By: "Graphile Worker", System: "graphile", Figure: 183_895, Unit: "jobs/s", Hardware: graphileOn, Durability: notSaid, Date: undated, Address: graphile,
		Shape:   "200,000 trivial jobs, in 4 processes of Node.js with 24 jobs at once each, which fetch 500 at a time and complete them in batches",
		Differs: jobsDiffer,
	},
	"graphile-unbatched": {
		By: "Graphile Worker", System: "graphile", Figure: 15_607, Unit: "jobs/s", Hardware: graphileOn, Durability: notSaid, Date: undated, Address: graphile,
		Shape:   "200,000 trivial jobs, in 4 processes of Node.js with 24 jobs at once each, without batches, which is the default",
		Differs: jobsDiffer,
	},
	"oban-jobs": {
		By: "Oban", System: "oban", Figure: 16_667, Unit: "jobs/s", Hardware: "not in the part of the page that could be read", Durability: notSaid, Date: "2022-06", Address: "https://oban.pro/articles/one-million-jobs-a-minute-with-oban",
		Shape:   "a million jobs a minute in one queue on one node, the aim that the page says was reached; all jobs inserted first, 5,000 at a time",
		Differs: jobsDiffer,
	},
	"hatchet-runs": {
		By: "Hatchet", System: "hatchet", Figure: 220, Unit: "ms a run", Hardware: "AWS RDS m7g.2xlarge with 8 CPUs, 83 % of which were busy; two engines on c7i.4xlarge", Cores: 8, Durability: notSaid, Date: undated + "; Hatchet v0.55.26", Address: "https://docs.hatchet.run/self-hosting/benchmarking",
		Shape:   "2,000 runs/s, triggered by events: average execution time; 48 ms at 500 runs/s, 40 ms at 100. An m7g.8xlarge did up to 10,000 runs/s",
		Differs: "There, engines and database are on machines of their own, and a run is triggered by an event, which the page says about doubles its time in the queue; here, one machine has all, and the time is from Submit to the result.",
	},
}
