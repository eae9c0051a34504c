-- Marks ended instances without rows as cleaned up. A pass may have missed rows while it waited for a completion or met another
-- pass. A completion in progress holds a node run's row, which is still visible here.
-- $1 shard, $2 instances, sorted.
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
