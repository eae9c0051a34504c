-- Removes queue rows of instances that have ended, in key order. $1 shard, $2 instances in the order of their ids, $3 most rows.
WITH old AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT ctid AS at FROM queue
        WHERE shard = $1 AND instance_id = u.id
        ORDER BY node, path
        FOR UPDATE
    ) r
    LIMIT $3
)
DELETE FROM queue t USING old WHERE t.ctid = old.at
