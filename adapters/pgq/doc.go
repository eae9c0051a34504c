// Command pgq is an adapter for pulley that drives PgQ, the queue of Skytools in Postgres: tables that rotate, a ticker that cuts the
// stream of events into batches, and consumers. Build it in its folder, since it is a module of its own:
//
//	go build -o pgq .
//
// # What is PgQ's
//
// The adapter installs PgQ 3.5.2 by itself, from the SQL that PgQ's Makefile puts together for servers without its C code, and
// pgq_coop 3.4 for cooperative consumers; the folder upstream says how. PgQ makes three roles on the server and leaves them there.
//
// A task is an event, which carries the values that the task needs. A batch goes to one consumer. Several processes share a queue by
// pgq_coop, as PgQ's author recommends ([issue 24]): each is a subconsumer of one consumer. A subconsumer that was silent for dead_ms
// loses its batch to the next one that asks. A failed attempt is put into the retry queue (pgq.event_retry), and ev_retry counts
// attempts.
//
// # What is hand-made
//
//   - The keeper takes the place of the daemon pgqd ([pgqd]). Every process calls pgq.ticker(), pgq.maint_retry_events() and what
//     pgq.maint_operations() lists, with pgqd's three periods. Parallel calls of pgq.ticker() are dangerous, as [force_tick] says, so
//     each call takes an advisory lock for its transaction, and is left out if another process has it.
//   - The slots of a process execute the events of a batch at once: [pgq-sql] leaves to the framework how it splits the work. The
//     batch is finished, in one transaction with its retries, when all were executed. If the process dies first, all its events come
//     again. Those whose task has a value are passed over.
//   - Signs of life: while a batch is at work, the process calls pgq_coop.next_batch for itself four times in dead_ms, which changes
//     nothing but the time. PgQ's framework for Python gives none, and shows an hour for its subconsumer_timeout.
//   - Graphs, results and ends are tables of the adapter's own (schema.sql). When an event was executed, a transaction stores its
//     task's value, and inserts the events of tasks that need nothing more. The first value of a task counts.
//   - pgq_coop.unregister_subconsumer is not called when a process stops: it would remove a batch that a lost answer had just brought.
//     A process that comes back has its name, and its batch.
//
// The process that completes an instance's last task reports the end after the commit, and before its batch is finished. If it dies
// in between, the batch comes again, to a process that reports the end.
//
// # What it promises
//
//   - submit, durable, and resubmit, once: "Generate new event. This should be called inside main tx", [pgq-sql]. Submit returns after
//     the commit of the instances with their events, and an id that is there inserts nothing.
//   - execution, at least once: "PgQ guarantees that each event is seen at least once", [pgqadm]; "Until this is not done, the consumer
//     will get same batch again", [pgq-sql].
//   - results, once: it is up to the consumer to process an event no more than once ([pgqadm]), which the tables do.
//   - recovers_ms follows from dead_ms, the ticker and the retry queue; PgQ names no bound for all of it.
//   - There is no order. pgq.get_batch_events sorts by ev_id, but no page promises it.
//   - There is no attempts: PgQ leaves to consumers when they give up.
//
// # What pgq_coop does not keep
//
// [pgq-nodupes] says that a consumer that calls pgq.finish_batch in the transaction of its effects needs no check whether an event was
// processed already. That does not hold for subconsumers. pgq_coop.next_batch reads the batch of a silent subconsumer, and deletes its
// row, without a lock in between. If that subconsumer finishes its batch meanwhile, the delete waits for its commit, and the finished
// batch is given to the other one: all of its effects are committed a second time, and finish_batch returns 1 both times.
// TestFinishedBatch shows it in a few statements. PgQue, which continues PgQ, gives a batch that is taken over a new number
// ([PgQue 208]). With guard=off the adapter relies on that note: the values of a batch are stored in the transaction that finishes it,
// and the last one of a task counts.
//
// # Settings
//
// Their defaults are shorter than PgQ's, which each names: a run lasts a minute, and PgQ's take four seconds for a step of a graph.
//
// [issue 24]: https://github.com/pgq/pgq/issues/24
// [pgqd]: https://github.com/pgq/pgqd
// [force_tick]: https://github.com/pgq/pgq/blob/v3.5.2/functions/pgq.force_tick.sql
// [pgq-sql]: https://github.com/pgq/skytools-legacy/blob/master/doc/pgq-sql.txt
// [pgq-nodupes]: https://github.com/pgq/skytools-legacy/blob/master/doc/pgq-nodupes.txt
// [pgqadm]: https://manpages.ubuntu.com/manpages/trusty/man1/pgqadm.1.html
// [PgQue 208]: https://github.com/NikolayS/PgQue/pull/208
package main
