-- Stores new instances of a shard that is owned in the epoch; gives the ids of those that were not there yet.
-- $1 shard, $2 epoch; $3 instance, $4 workflow, $5 input, $6 status, $7 result, $8 failure, $9 token of those that end at once
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), born AS (
    INSERT INTO instances (shard, id, workflow, input, status, result, failure, ended_by, ended_at)
    SELECT $1, n.id, n.workflow, n.input, n.status, n.result, n.failure, nullif(n.token, 0),
        CASE WHEN n.status <> 'running' THEN clock_timestamp() END
    FROM unnest($3::uuid[], $4::int[], $5::json[], $6::text[], $7::json[], $8::json[], $9::bigint[])
        AS n (id, workflow, input, status, result, failure, token)
    WHERE EXISTS (SELECT FROM fence)
    ON CONFLICT (shard, id) DO NOTHING
    RETURNING id
)
SELECT (SELECT count(*) FROM fence)::int, ARRAY(SELECT id FROM born)
