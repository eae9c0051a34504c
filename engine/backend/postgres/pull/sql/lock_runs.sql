-- Locks node runs by ranges of paths, in order, so that the next statement sees their latest versions.
-- $1 shard; $2 instance, $3 node, $4 path, $5 end of paths
SELECT count(*)
FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS c (instance_id, node, first, last)
CROSS JOIN LATERAL (
    SELECT FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.node = c.node
        AND l.path >= c.first AND l.path < c.last
    OFFSET 0
    FOR UPDATE
) l
