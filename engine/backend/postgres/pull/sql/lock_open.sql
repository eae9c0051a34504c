-- Locks the open node runs of instances, in order, so that the next statement sees their latest versions.
-- $1 shard; $2 instances, sorted
SELECT count(*)
FROM unnest($2::uuid[]) AS c (instance_id)
CROSS JOIN LATERAL (
    SELECT FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.done IS NULL
    OFFSET 0
    FOR UPDATE
) l
