-- Removes rows of nodes of instances that have ended, but those that a completion still holds. $1 shard, $2 instances in the order of their ids, $3 most rows.
WITH old AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT ctid AS at FROM node_ready_state
        WHERE shard = $1 AND instance_id = u.id
        ORDER BY node, place
        FOR UPDATE SKIP LOCKED
    ) r
    LIMIT $3
)
DELETE FROM node_ready_state t USING old WHERE t.ctid = old.at
