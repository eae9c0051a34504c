-- Counts the node runs of instances. $1 shard, $2 instances, $3 most for each.
SELECT c.id, n.done, n.running, n.waiting
FROM unnest($2::uuid[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.status = 'completed')::int AS done, count(*) FILTER (WHERE q.status = 'leased')::int AS running,
        count(*) FILTER (WHERE q.status <> 'completed' AND NOT (q.status = 'leased'))::int AS waiting
    FROM (
        SELECT q.* FROM ledger q WHERE q.shard = $1 AND q.instance_id = c.id LIMIT 3 * $3 + 1
    ) q
) n
