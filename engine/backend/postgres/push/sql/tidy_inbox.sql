-- Removes values of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
DELETE FROM inbox i
USING (
    SELECT variable, path, element FROM inbox
    WHERE shard = $1 AND instance_id = $2
    ORDER BY variable, path, element
    LIMIT $3
    FOR UPDATE
) old
WHERE i.shard = $1 AND i.instance_id = $2 AND i.variable = old.variable AND i.path = old.path AND i.element = old.element
