-- Locks counters that are there, in key order, and counts them: those that a transaction before this one met while it
-- held others, out of order. $1 shard; $2 instance, $3 node, $4 path
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
