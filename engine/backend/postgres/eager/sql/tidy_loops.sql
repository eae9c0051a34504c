-- Removes rounds of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
WITH old AS MATERIALIZED (
    SELECT ctid AS at FROM loop_iteration_state
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, place
    LIMIT $3
    FOR UPDATE
)
DELETE FROM loop_iteration_state t USING old WHERE t.ctid = old.at
