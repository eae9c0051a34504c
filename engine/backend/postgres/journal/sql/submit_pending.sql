-- Stores new instances of a shard that this engine does not own, notifies the owner, and returns the ids that did not exist. $1
-- shard; $2 instance, $3 workflow, $4 input, $5 status, $6 result, $7 failure, $8 channel, $9 payload.
WITH created AS (
    INSERT INTO instances (shard, id, workflow, input, status, result, failure, pending, ended_at)
    SELECT $1, n.id, n.workflow, n.input, n.status, n.result, n.failure, n.status = 'running',
        CASE WHEN n.status <> 'running' THEN clock_timestamp() END
    FROM unnest($2::uuid[], $3::int[], $4::json[], $5::text[], $6::json[], $7::json[])
        AS n (id, workflow, input, status, result, failure)
    ORDER BY n.id -- the lock order of all transactions (D5)
    ON CONFLICT (shard, id) DO NOTHING
    RETURNING id
)
SELECT 1::int, ARRAY(SELECT id FROM created), pg_notify($8, $9)::text
