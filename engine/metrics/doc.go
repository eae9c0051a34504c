// Package metrics counts what an engine does, for Prometheus and what reads its text format. It wraps an engine's observer and
// workers, and serves the numbers.
//
// All numbers are of one engine, since it was started; sums over engines are the reader's. Durations are in seconds. What is in the
// store, such as instances that wait for an engine, is not counted: that would cost the store a query at each reading.
//
//	pulley_attempts_total{action,result}    attempts that ended: completed, failed, died (their worker did)
//	pulley_attempt_seconds{action}          how long they took: a histogram
//	pulley_attempts_running                 attempts at work
//	pulley_deliveries_total{action}         tasks that were leased to the engine
//	pulley_completions_total{answer}        the store's answers to completions: applied, stale, refused, again, error
//	pulley_commits_total                    transactions that applied completions
//	pulley_instances_submitted_total        instances that the engine stored
//	pulley_instances_ended_total{status}    instances that it ended: completed, failed, canceled
//	pulley_instances_purged_total           ended instances that it deleted
//	pulley_problems_total                   what went wrong, and is tried again
//
// Numbers of the process, such as process_resident_memory_bytes and go_goroutines, follow. An action beyond the first thousand counts
// as the action "other".
package metrics
