-- Removes queue rows of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
DELETE FROM queue q
USING (
    SELECT node, path FROM queue
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, path
    LIMIT $3
    FOR UPDATE
) old
WHERE q.shard = $1 AND q.instance_id = $2 AND q.node = old.node AND q.path = old.path
