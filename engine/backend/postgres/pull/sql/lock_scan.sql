-- Takes the scan lock of a shard: two scans that find the same node runnable would both enter it. Also returns the transaction's
-- id, which resolves a lost COMMIT. $1 shard.
SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/cycle', $1::bigint)), pg_current_xact_id()::text
