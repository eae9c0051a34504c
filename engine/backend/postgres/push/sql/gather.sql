-- Deletes and returns the values that arrived at open aggregates, and deletes their counters: no soft edge leads there, so
-- nothing else can arrive.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path.
WITH opened AS MATERIALIZED (
    SELECT * FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS b (ord, instance_id, node, path)
), counters AS MATERIALIZED (
    SELECT r.at
    FROM opened o
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM readiness r
        WHERE r.shard = $1 AND r.instance_id = o.instance_id AND r.node = o.node AND r.path = o.path
        OFFSET 0
    ) r
), counted AS (
    DELETE FROM readiness r USING counters c WHERE r.ctid = c.at
), arrived AS MATERIALIZED (
    SELECT o.ord, e.at
    FROM opened o
    CROSS JOIN LATERAL (
        SELECT e.ctid AS at FROM elements e
        WHERE e.shard = $1 AND e.instance_id = o.instance_id AND e.node = o.node AND e.path = o.path
        OFFSET 0
    ) e
)
DELETE FROM elements e USING arrived a WHERE e.ctid = a.at
RETURNING a.ord, e.places, e.vals
