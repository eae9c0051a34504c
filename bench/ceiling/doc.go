// Package ceiling measures what raw SQL can do, on the server in use, for the rows that the designs make durable: what
// no design on that server can pass, and what each is held against.
//
// # What is done
//
// A completion's four writes are those of the push design, in its tables: the run's row leaves the queue if its token is
// the one that was given, its value enters the inbox, the counter of its join rises, and a run that became ready enters
// the queue. The other designs that write for each node make the same durable, or as much. The workload is the fan-out
// of one to a hundred to one, endlessly: a hundred runs of an instance count in one join, and each puts a run of a later
// instance into the queue, as the first action of an instance does for all of its elements. Values and arguments are
// 64 bytes of JSON. Each value is a row: a design that packs several into one, as push does where a list is awaited, has
// found something to gain on its ceiling. The ways to write are
//
//	statements   the four as statements of their own, one after the other, in a transaction
//	call         one statement does them
//	batched      one statement does them for 100 or 1,000 completions, in arrays
//	append       one event for each completion, in the journal design's table, 100 or 1,000 in one insert that the
//	             epoch of the shard fences
//	copy         the same rows by COPY; beside it, since nothing fences it
//
// # Instances
//
// Completions only is what the writes of a node cost. A run of short instances also writes each instance's own row:
// inserted when it is submitted, updated with its result when it ends. With Config.Nodes, an instance ends with each such
// number of completions, and another is submitted, in the same tables and with the columns that the designs write; of a
// completion that ends its instance the journal appends no event. batched and append write these rows in the statement
// of the completions, set by set: no design can do better. In call the end is in the completion's statement and the
// submission a call of its own; in statements each is one of its own; copy has two beside it, in one transaction. What a
// completion itself writes stays the same, whatever the number, so that figures differ by these rows alone. A chain
// writes fewer counters and values than this workload does: for push, its ceiling is lower by them.
//
// # Points
//
// Each is measured with 1, 2, 4, 8 and 16 connections, and the best point is the ceiling.
//
// # How it is measured
//
// The tables are made by the designs' own migrations, in schemas that are dropped at the end, and emptied before each
// point. Sessions have the settings of the designs' own. Every connection has a shard for itself (D11), so that none
// waits for another's rows. The client encodes parameters into reused buffers, in the binary format, and reads back no
// more than it must to know that all rows were written; it has no engine, no pool and no reflection, but it runs on the
// machine's own cores like any client.
//
// All connections work from the first to the last moment of a point. A quarter of the time is warm-up. Then each takes
// the time from the start of its next call to the end of the one that is under way when the time is up, and goes on
// writing until all have theirs; the rate is the sum over connections of completions divided by that time. Afterwards
// the rows in the tables are counted: a point whose rows are not all there is an error.
//
// A round measures every point once, and every other round goes backwards. A point's rate is the median over rounds,
// and where there are two, their mean.
//
// # On one idle connection
//
// The update of one row in a transaction of its own is the cost of a commit. One completion's transaction, its call and
// its appended row are what the latency of a hop is held against.
package ceiling
