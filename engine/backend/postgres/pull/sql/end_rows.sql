-- Deletes the rows of ended instances. Open node runs are locked already.
-- $1 shard; $2 instances, sorted
WITH over AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[]) AS c (instance_id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM {table} t WHERE t.shard = $1 AND t.instance_id = c.instance_id OFFSET 0
    ) t
)
DELETE FROM {table} t USING over WHERE t.ctid = over.at
