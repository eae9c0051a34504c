-- Removes rows of nodes of an instance that has ended, but those that a completion still holds. $1 shard, $2 instance, $3 most.
WITH old AS MATERIALIZED (
    SELECT ctid AS at FROM node_ready_state
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, place
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM node_ready_state t USING old WHERE t.ctid = old.at
