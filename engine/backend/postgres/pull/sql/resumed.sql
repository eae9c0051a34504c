-- Deletes the steps of traversals that were resumed. $1 shard; $2 instance, $3 node, $4 path
WITH found AS MATERIALIZED (
    SELECT a.at
    FROM unnest($2::uuid[], $3::int[], $4::text[]) AS r (instance_id, node, path)
    CROSS JOIN LATERAL (
        SELECT a.ctid AS at FROM arrivals a
        WHERE a.shard = $1 AND a.instance_id = r.instance_id AND a.node = r.node AND a.path = r.path
            AND a.source = 'resume'
        OFFSET 0
    ) a
)
DELETE FROM arrivals a USING found f WHERE a.ctid = f.at
