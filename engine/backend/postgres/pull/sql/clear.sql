-- Deletes node runs, steps towards them, or values, by ranges of paths. Open runs are locked already.
-- $1 shard; $2 instance, $3 node or variable, $4 path, $5 end of paths
WITH found AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::text[]) AS c (instance_id, id, first, last)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM {table} t
        WHERE t.shard = $1 AND t.instance_id = c.instance_id AND t.{id} = c.id
            AND t.path >= c.first AND t.path < c.last
        OFFSET 0
    ) t
)
DELETE FROM {table} t USING found f WHERE t.ctid = f.at
