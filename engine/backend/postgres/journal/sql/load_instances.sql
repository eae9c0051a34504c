-- Reads a shard's running instances except pending ones; the input only of those without a snapshot. $1 shard.
SELECT id, workflow, CASE WHEN snapshot IS NULL THEN input END, (extract(epoch FROM clock_timestamp() - submitted_at) * 1000000)::bigint, coalesce(snapshot, 0)
FROM instances WHERE shard = $1 AND status = 'running' AND NOT pending
ORDER BY submitted_at, id
