-- Deletes values of variables from an element on: -1 deletes all, 0 what was appended.
-- $1 shard; $2 instance, $3 variable, $4 scope, $5 first element.
WITH old AS MATERIALIZED (
    SELECT v.at
    FROM unnest($2::uuid[], $3::int[], $4::text[], $5::int[]) AS u (instance_id, variable, scope, first)
    CROSS JOIN LATERAL (
        SELECT v.ctid AS at FROM instance_eval_context v
        WHERE v.shard = $1 AND v.instance_id = u.instance_id AND v.variable = u.variable AND v.scope = u.scope
            AND v.element >= u.first
        OFFSET 0
    ) v
)
DELETE FROM instance_eval_context v USING old WHERE v.ctid = old.at
