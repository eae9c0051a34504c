-- Removes payloads of instances that have ended, in key order. $1 shard, $2 instances in the order of their ids, $3 most rows.
WITH old AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT ctid AS at FROM node_pending_context
        WHERE shard = $1 AND instance_id = u.id
        ORDER BY node, place, element
        FOR UPDATE SKIP LOCKED
    ) r
    LIMIT $3
)
DELETE FROM node_pending_context t USING old WHERE t.ctid = old.at
