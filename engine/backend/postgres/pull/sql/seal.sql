-- Fixes the place of completions in the order of replays: behind all that was sealed before, and before
-- all that is not. $1 shard; $2 instance, $3 node, $4 path
WITH cycle AS MATERIALIZED (SELECT nextval('tokens') AS number),
found AS MATERIALIZED (
    SELECT l.at
    FROM unnest($2::uuid[], $3::int[], $4::text[]) AS r (instance_id, node, path)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS at FROM ledger l
        WHERE l.shard = $1 AND l.instance_id = r.instance_id AND l.node = r.node AND l.path = r.path
        OFFSET 0
    ) l
)
UPDATE ledger l SET sealed = c.number FROM found f, cycle c WHERE l.ctid = f.at
