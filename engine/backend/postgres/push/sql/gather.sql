-- Takes the values that arrived at open aggregates out of the inbox, and their counters with them: no
-- soft edge leads to an aggregate, so nothing can arrive any more.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 variable, $6 path.
WITH opened AS (
    SELECT * FROM unnest($2::int[], $3::uuid[], $4::int[], $5::int[], $6::text[])
        AS b (ord, instance_id, node, variable, path)
), counted AS (
    DELETE FROM readiness r USING opened o
    WHERE r.shard = $1 AND r.instance_id = o.instance_id AND r.node = o.node AND r.path = o.path
)
DELETE FROM inbox i USING opened o
WHERE i.shard = $1 AND i.instance_id = o.instance_id AND i.variable = o.variable AND i.path = o.path AND i.element >= 0
RETURNING o.ord, i.element, i.value
