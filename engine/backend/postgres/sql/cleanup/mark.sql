-- Marks instances that have ended as cleaned up, if they are: a pass may have waited for a completion, or have met another pass,
-- and not have seen the rows that those left. A completion that is still at work holds the row of a node run, which is seen.
-- $1 shard, $2 instances in the order of their ids.
UPDATE instances i SET needs_cleanup = false
FROM (
    SELECT r.at
    FROM unnest($2::uuid[]) AS u (id)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM instances r
        WHERE r.shard = $1 AND r.id = u.id AND r.needs_cleanup{none left}
        OFFSET 0
    ) r
) e
WHERE i.ctid = e.at
