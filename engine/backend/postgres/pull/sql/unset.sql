-- Takes values of variables away. $1 shard; $2 instance, $3 variable, $4 path.
WITH found AS MATERIALIZED (
    SELECT i.at
    FROM unnest($2::uuid[], $3::int[], $4::text[]) AS u (instance_id, variable, path)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM inbox i
        WHERE i.shard = $1 AND i.instance_id = u.instance_id AND i.variable = u.variable AND i.path = u.path
            AND i.element = -1
        OFFSET 0
    ) i
)
DELETE FROM inbox i USING found f WHERE i.ctid = f.at
