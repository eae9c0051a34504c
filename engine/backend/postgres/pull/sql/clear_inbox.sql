-- Removes values under paths. $1 shard; $2 instance, $3 variable, $4 path, $5 end of paths
WITH found AS MATERIALIZED (
    SELECT i.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS c (instance_id, variable, first, last)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM inbox i
        WHERE i.shard = $1 AND i.instance_id = c.instance_id AND i.variable = c.variable
            AND i.path >= c.first AND i.path < c.last
        OFFSET 0
    ) i
)
DELETE FROM inbox i USING found f WHERE i.ctid = f.at
