-- Marks instances that have ended as tidy, if they are: a pass may have waited for a completion, or have met another pass,
-- and not have seen the rows that those left. A completion that is still at work holds the row of a node, which is seen.
-- $1 shard, $2 instances in the order of their ids.
UPDATE instances i SET untidy = false
FROM (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM instances r
        WHERE r.shard = $1 AND r.id = u.id AND r.untidy
            AND NOT EXISTS (SELECT FROM node_ready_state t WHERE t.shard = $1 AND t.instance_id = u.id)
            AND NOT EXISTS (SELECT FROM node_pending_context t WHERE t.shard = $1 AND t.instance_id = u.id)
            AND NOT EXISTS (SELECT FROM instance_eval_context t WHERE t.shard = $1 AND t.instance_id = u.id)
        OFFSET 0
    ) r
) e
WHERE i.ctid = e.at
