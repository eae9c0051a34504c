-- Removes all values of instances that this transaction ended and that nothing else works on. $1 shard, $2 instances.
WITH old AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[]) AS e (instance_id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM inbox t WHERE t.shard = $1 AND t.instance_id = e.instance_id OFFSET 0
    ) t
)
DELETE FROM inbox t USING old WHERE t.ctid = old.at
