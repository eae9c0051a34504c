-- Locks the node runs of regions that are called off, in key order, and counts them: what is being completed
-- there is so waited for. What it has queued meanwhile, this does not see; call_off_more.sql does.
-- $1 shard; ranges: $2 instance, $3 node, $4 low, $5 high
WITH locked AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS r (instance_id, node, low, high)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at
        FROM queue t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path >= r.low AND t.path < r.high
        ORDER BY t.path
        FOR UPDATE
    ) t
)
SELECT count(*) FROM locked
