-- Reads instances to reload. $1 shard, $2 instances.
SELECT i.id, i.workflow, i.input, i.age, i.snapshot
FROM unnest($2::uuid[]) AS p (id)
CROSS JOIN LATERAL (
    SELECT r.id, r.workflow, CASE WHEN r.snapshot IS NULL THEN r.input END AS input,
        (extract(epoch FROM clock_timestamp() - r.submitted_at) * 1000000)::bigint AS age, coalesce(r.snapshot, 0) AS snapshot
    FROM instances r WHERE r.shard = $1 AND r.id = p.id AND r.status = 'running'
    OFFSET 0
) i
