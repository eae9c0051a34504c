-- Deletes open node runs by ranges of paths, which fences them. They are locked already.
-- $1 shard; $2 instance, $3 node, $4 path, $5 end of paths
WITH found AS MATERIALIZED (
    SELECT l.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS c (instance_id, node, first, last)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS at, l.status FROM ledger l
        WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.node = c.node
            AND l.path >= c.first AND l.path < c.last
        OFFSET 0
    ) l
    WHERE l.status <> 'completed'
)
DELETE FROM ledger l USING found f WHERE l.ctid = f.at
