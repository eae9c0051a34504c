-- Reads the node runs of an instance that have not ended. $1 shard, $2 instance, $3 most.
SELECT q.node, q.path, q.attempt, q.redeliveries + (q.is_queued)::int, coalesce(CASE WHEN q.is_queued THEN q.owner END, ''), q.is_queued, q.due_at
FROM node_ready_state q
WHERE q.shard = $1 AND q.instance_id = $2 AND q.deps_satisfied >= q.deps_required AND NOT q.is_completed AND q.token IS NOT NULL
ORDER BY q.node, q.place
LIMIT $3
