// Package ceiling measures what raw SQL achieves on a server for the rows that the designs make durable: no design on that
// server can be faster, and each is compared with it.
//
// # What is done
//
// A completion writes what the push design writes, into its tables: the run's row leaves the queue if its token is the current
// one, and a run that became ready, of a later instance, enters the queue. Completions also write what the graph of their
// instance needs (record.InstanceWrites): values that a later node run reads enter the inbox, elements of an awaited list enter
// the elements, counters of joins rise. Config.Graphs has these counts per instance; package bench derives them from the core's
// plans. So a chain has no such rows, a loop and a spread have their own, and a join has one increment per incoming edge.
// Without Graphs the workload is an endless fan-out of one to a hundred to one. The counts are spread evenly over an instance's
// completions, and instances follow each other, so that completions of a call share as much as possible.
//
// The other designs make the same amount durable per node. Values and arguments are 64 bytes of JSON. Rows that exist only
// within a commit of one completion are not written, and an instance's remains are not removed: a design could drop whole
// tables. The ways to write are
//
//	statements   each row by its own statement, sequentially, in a transaction
//	call         one statement for a completion
//	batched      one statement for 100 or 1,000 completions, in arrays; adjacent elements of a list share a row,
//	             and increments of a counter are added up
//	append       one event per completion, in the journal design's table, 100 or 1,000 in one insert that is
//	             fenced by the shard's epoch
//	packed       the same events, as many in a row as fit a page, in a table that no design has
//	copy         a row each by COPY, in a transaction that begins with the fence
//
// A row per event is not the limit of appending: `pulley ceiling --ways append,packed,copy --batches 1000 --connections
// 2,4,8,16 --nodes-per-instance 10 --duration 300ms --runs 3`, 2026-11-26, two cores, Postgres 15 with durability on, reached
// 204,822 [174,838, 211,924] events/s appended (best on 2 connections), 423,822 [321,735, 446,106] packed (16) and 103,168
// [84,076, 121,144] copied (16); with instances of ten 145,342 [117,720, 154,219], 246,093 [161,962, 266,645] and 108,998
// [69,890, 111,406]. Packing saves tuple headers and index entries, so the journal is compared with packed.
//
// # Instances
//
// Completions only is the cost of a node's writes. Short instances also write their own row: inserted at submission, updated
// with the result at the end. With Config.Nodes, an instance ends after each such number of completions and another is
// submitted, in the designs' tables and columns; the journal appends no event for a completion that ends its instance. batched,
// append and packed write these rows in the completions' statement, set by set: no design can do better. In call the end is in
// the completion's statement and the submission is a separate call; in statements each is a separate statement; copy adds two
// statements in one transaction.
//
// # How it is measured
//
// The designs' own migrations create the tables, in schemas that are dropped at the end; tables are emptied before each point.
// Each way is measured with 1, 2, 4, 8 and 16 connections; the best point is the ceiling. Sessions have the designs' settings.
// Every connection has its own shard (D11), so that none waits for another's rows. The client encodes parameters into reused
// buffers in the binary format, and reads only what it needs to know that all rows were written. It has no engine, pool or
// reflection, but runs on the machine's own cores like any client.
//
// All connections work during the whole point. A quarter of the time is warm-up. Then each measures from the start of its next
// call to the end of the call under way when the time is up, and continues writing until all have finished. The rate is the sum
// over connections of completions divided by that time. Afterwards the rows in the tables are counted: missing rows are an
// error.
//
// A round measures every point once; every other round runs backwards. A point's rate is the median over rounds, of two rounds
// the mean.
//
// # Point writes
//
// [MeasureInserts] measures rows of no design, each inserted in a transaction of its own, as benchmarks of Postgres itself do.
//
// # On one idle connection
//
// The update of one row in its own transaction is the cost of a commit. One completion's transaction, its call and its appended
// row are the yardsticks for a hop's latency.
package ceiling
