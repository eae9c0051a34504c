-- Removes the rows of instances that have ended.
-- $1 shard; $2 instances, sorted
WITH over AS MATERIALIZED (
    SELECT t.at
    FROM unnest($2::uuid[]) AS c (instance_id)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at FROM arrivals t WHERE t.shard = $1 AND t.instance_id = c.instance_id OFFSET 0
    ) t
)
DELETE FROM arrivals t USING over WHERE t.ctid = over.at
