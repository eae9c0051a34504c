-- Locks and counts the existing counters of a lock set, in key order.
-- $1 shard; $2 instance, $3 node, $4 path
WITH locked AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[], $3::int[], $4::text[]) AS r (instance_id, node, path)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at
        FROM readiness t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path = r.path
        FOR UPDATE
    ) t
)
SELECT count(*) FROM locked
