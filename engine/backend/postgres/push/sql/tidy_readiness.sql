-- Removes counters of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
DELETE FROM readiness r
USING (
    SELECT node, path FROM readiness
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, path
    LIMIT $3
    FOR UPDATE
) old
WHERE r.shard = $1 AND r.instance_id = $2 AND r.node = old.node AND r.path = old.path
