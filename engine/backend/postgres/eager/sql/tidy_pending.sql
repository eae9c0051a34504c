-- Removes payloads of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
WITH old AS MATERIALIZED (
    SELECT ctid AS at FROM node_pending_context
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, place, element
    LIMIT $3
    FOR UPDATE SKIP LOCKED
)
DELETE FROM node_pending_context t USING old WHERE t.ctid = old.at
