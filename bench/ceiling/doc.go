// Package ceiling measures what raw SQL can do, on the server in use, for the rows that the designs make durable: what
// no design on that server can pass, and what each is held against.
//
// # What is done
//
// What a completion writes is what the push design writes, in its tables: the run's row leaves the queue if its token is
// the one that was given, and a run that became ready enters the queue, of a later instance, as the first action of an instance
// does for all of its elements. Beside that, completions bring what the graph of their instance asks for (record.InstanceWrites): values
// that a later node run reads enter the inbox, values of a list that is awaited enter the elements, counters of joins rise. Config.Graphs
// has these counts for an instance; package bench finds them from the plans of the core, so that a chain has no such rows, a loop and a
// spread those of their own, and a join as many raises as edges lead to it. Without them the workload is the fan-out of one to a
// hundred to one, endlessly. They are spread evenly over the completions of an instance, and instances follow
// each other: what completions of a call have in common is as much as can be. The other designs that write for each node make the
// same durable, or as much. Values and arguments are 64 bytes of JSON. Not written is what stands only within a commit, where each
// completion is one; nor is anything removed that an instance leaves: a design could drop it by the table. The ways to write are
//
//	statements   each row by a statement of its own, one after the other, in a transaction
//	call         one statement writes them
//	batched      one statement does it for 100 or 1,000 completions, in arrays; elements that stand together in a list share a row,
//	             and raises of a counter are one
//	append       one event for each completion, in the journal design's table, 100 or 1,000 in one insert that the
//	             epoch of the shard fences
//	packed       the same events, as many in a row as a page takes, in a table that no design has
//	copy         a row for each by COPY, in a transaction that begins with the fence
//
// A row for each event is not the limit of what appends: `pulley ceiling --ways append,packed,copy --batches 1000 --connections 2,4,8,16
// --nodes-per-instance 10 --duration 300ms --runs 3`, 2026-11-26, two cores, Postgres 15 with durability on, came to 204,822
// [174,838, 211,924] events/s appended (best on 2 connections), 423,822 [321,735, 446,106] packed (16) and 103,168 [84,076, 121,144]
// copied (16); with instances of ten to 145,342 [117,720, 154,219], 246,093 [161,962, 266,645] and 108,998 [69,890, 111,406]. What is packed
// spares the tuples' headers and the entries of an index. So packed is what the journal is held against.
//
// # Instances
//
// Completions only is what the writes of a node cost. A run of short instances also writes each instance's own row:
// inserted when it is submitted, updated with its result when it ends. With Config.Nodes, an instance ends with each such
// number of completions, and another is submitted, in the same tables and with the columns that the designs write; of a
// completion that ends its instance the journal appends no event. batched, append and packed write these rows in the statement
// of the completions, set by set: no design can do better. In call the end is in the completion's statement and the
// submission a call of its own; in statements each is one of its own; copy has two beside it, in one transaction.
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
