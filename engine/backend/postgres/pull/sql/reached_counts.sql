-- Notes up to which arrival barriers were continued. $1 shard; $2 instance, $3 node, $4 path, $5 count
WITH found AS MATERIALIZED (
    SELECT a.at, r.count
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[]) AS r (instance_id, node, path, count)
    CROSS JOIN LATERAL (
        SELECT a.ctid AS at FROM arrivals a
        WHERE a.shard = $1 AND a.instance_id = r.instance_id AND a.node = r.node AND a.path = r.path
            AND a.source = 'open'
        OFFSET 0
    ) a
)
UPDATE arrivals a SET reached = f.count FROM found f WHERE a.ctid = f.at
