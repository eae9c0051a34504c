-- Removes values of instances that have ended, in key order. $1 shard, $2 instances in the order of their ids, $3 most rows.
WITH old AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT ctid AS at FROM instance_eval_context
        WHERE shard = $1 AND instance_id = u.id
        ORDER BY variable, scope, element
        FOR UPDATE SKIP LOCKED
    ) r
    LIMIT $3
)
DELETE FROM instance_eval_context t USING old WHERE t.ctid = old.at
