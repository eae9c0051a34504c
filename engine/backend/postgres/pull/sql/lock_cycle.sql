-- One cycle at a time on a shard: two that found the same node runnable would do the work twice.
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/cycle', $1::bigint))
