-- Reads a shard's events from a seq on. $1 shard, $2 seq, $3 most.
SELECT seq, instance_id, kind, node, path, coalesce((extract(epoch FROM clock_timestamp() - happened_at) * 1000000)::bigint, 0), data
FROM events WHERE shard = $1 AND seq >= $2
ORDER BY seq
LIMIT $3
