-- One cycle at a time on a shard: two that found the same node runnable would do the work twice. With the lock
-- comes the transaction's id, by which a lost COMMIT can be asked for. $1 shard.
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/cycle', $1::bigint)), pg_current_xact_id()::text
