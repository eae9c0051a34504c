-- Counts the node runs of instances. $1 shard, $2 instances, $3 most for each.
SELECT c.id, n.done, n.running, n.waiting
FROM unnest($2::uuid[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.is_completed AND q.node <> 0)::int AS done, count(*) FILTER (WHERE q.is_queued AND NOT q.is_completed)::int AS running,
        count(*) FILTER (WHERE q.deps_satisfied >= q.deps_required AND NOT q.is_completed AND q.token IS NOT NULL AND NOT (q.is_queued))::int AS waiting
    FROM (
        SELECT q.* FROM node_ready_state q WHERE q.shard = $1 AND q.instance_id = c.id LIMIT 3 * $3 + 1
    ) q
) n
