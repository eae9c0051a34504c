-- Deletes values of variables, or what was appended to them.
-- $1 shard; $2 instance, $3 variable, $4 path, $5 first and $6 last element.
WITH found AS MATERIALIZED (
    SELECT i.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[], $6::int[]) AS u (instance_id, variable, path, first, last)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM inbox i
        WHERE i.shard = $1 AND i.instance_id = u.instance_id AND i.variable = u.variable AND i.path = u.path
            AND i.element BETWEEN u.first AND u.last
        OFFSET 0
    ) i
)
DELETE FROM inbox i USING found f WHERE i.ctid = f.at
