-- Gives up the leases that a transaction took whose COMMIT was lost: nobody has heard of them. What has
-- changed since is not the transaction's any more. $1 shard, $2 instance, $3 the transaction's id.
WITH lost AS MATERIALIZED (
    SELECT r.at
    FROM unnest($2::uuid[]) AS c (instance_id)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at
        FROM node_ready_state r
        WHERE r.shard = $1 AND r.instance_id = c.instance_id AND r.xmin = ($3::text::xid8)::xid
            AND r.is_queued AND NOT r.is_completed
        FOR UPDATE SKIP LOCKED
    ) r
)
UPDATE node_ready_state r
SET is_queued = false, due_at = clock_timestamp(), owner = NULL
FROM lost
WHERE r.ctid = lost.at
