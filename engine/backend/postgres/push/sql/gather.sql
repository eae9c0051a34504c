-- Takes the values that arrived at open aggregates out of the inbox, and their counters with them: no
-- soft edge leads to an aggregate, so nothing can arrive any more.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 variable, $6 path.
WITH opened AS (
    SELECT * FROM unnest($2::int[], $3::uuid[], $4::int[], $5::int[], $6::text[])
        AS b (ord, instance_id, node, variable, path)
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
    SELECT o.ord, i.at
    FROM opened o
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM inbox i
        WHERE i.shard = $1 AND i.instance_id = o.instance_id AND i.variable = o.variable AND i.path = o.path
            AND i.element >= 0
        OFFSET 0
    ) i
)
DELETE FROM inbox i USING arrived a WHERE i.ctid = a.at
RETURNING a.ord, i.element, i.value
