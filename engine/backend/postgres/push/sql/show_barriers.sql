-- Reads the barriers of an instance that are not full. $1 shard, $2 instance, $3 most.
SELECT r.node, r.path, r.completed, CASE WHEN r.required = 2147483647 THEN 0 ELSE r.required END
FROM readiness r
WHERE r.shard = $1 AND r.instance_id = $2 AND r.completed < r.required
ORDER BY r.node, r.path
LIMIT $3
