-- Counts the node runs of instances. What has ended is not kept. $1 shard, $2 instances, $3 most for each.
SELECT c.id, NULL::int, n.running, n.waiting
FROM unnest($2::uuid[]) AS c (id)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE q.leased)::int AS running, count(*) FILTER (WHERE NOT q.leased)::int AS waiting
    FROM (
        SELECT q.owner IS NOT NULL AS leased FROM queue q WHERE q.shard = $1 AND q.instance_id = c.id LIMIT $3 + 1
    ) q
) n
