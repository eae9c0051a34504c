-- How long until the next ready node of a shard is due, in µs; negative if one is. $1 shard.
SELECT (extract(epoch FROM r.due_at - clock_timestamp()) * 1000000)::bigint
FROM node_ready_state r
CROSS JOIN LATERAL (
    SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = r.instance_id OFFSET 0
) i
WHERE r.shard = $1 AND r.deps_satisfied >= r.deps_required AND NOT r.is_completed AND r.token IS NOT NULL AND i.status = 'running'
ORDER BY r.due_at, r.token
LIMIT 1
