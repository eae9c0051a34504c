-- Removes the steps towards node runs under paths. $1 shard; $2 instance, $3 node, $4 path, $5 end of paths
WITH found AS MATERIALIZED (
    SELECT a.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS c (instance_id, node, first, last)
    CROSS JOIN LATERAL (
        SELECT a.ctid AS at FROM arrivals a
        WHERE a.shard = $1 AND a.instance_id = c.instance_id AND a.node = c.node
            AND a.path >= c.first AND a.path < c.last
        OFFSET 0
    ) a
)
DELETE FROM arrivals a USING found f WHERE a.ctid = f.at
