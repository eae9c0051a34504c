-- Locks the node runs of instances that have not ended, in order, so that a statement after this sees them as
-- whoever is changing one leaves it. $1 shard; $2 instances, sorted
SELECT count(*)
FROM unnest($2::uuid[]) AS c (instance_id)
CROSS JOIN LATERAL (
    SELECT FROM ledger l
    WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.done IS NULL
    OFFSET 0
    FOR UPDATE
) l
