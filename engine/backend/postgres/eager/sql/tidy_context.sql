-- Removes values of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
WITH old AS MATERIALIZED (
    SELECT ctid AS at FROM instance_eval_context
    WHERE shard = $1 AND instance_id = $2
    ORDER BY variable, scope, element
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM instance_eval_context t USING old WHERE t.ctid = old.at
