-- Reads the barriers of an instance that are not full. $1 shard, $2 instance, $3 most.
SELECT r.node, r.path, r.deps_satisfied, coalesce(r.deps_required, 0)
FROM node_ready_state r
WHERE r.shard = $1 AND r.instance_id = $2 AND NOT r.is_completed AND r.token IS NULL AND (r.deps_satisfied > 0 OR r.deps_required > 1)
    AND (r.deps_satisfied >= r.deps_required) IS NOT TRUE
ORDER BY r.node, r.place
LIMIT $3
