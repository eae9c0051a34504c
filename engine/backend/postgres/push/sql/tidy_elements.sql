-- Removes values that arrived at aggregates of an instance that has ended, in key order. $1 shard, $2 instance, $3 most.
WITH old AS MATERIALIZED (
    SELECT ctid AS at FROM elements
    WHERE shard = $1 AND instance_id = $2
    ORDER BY node, path, first
    LIMIT $3
    FOR UPDATE
)
DELETE FROM elements t USING old WHERE t.ctid = old.at
