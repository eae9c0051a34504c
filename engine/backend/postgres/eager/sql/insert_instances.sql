-- Inserts new instances and returns those that did not exist. An instance that ends at its start is inserted as ended.
-- $1 shard; $2 instance, $3 workflow, $4 input, $5 status, $6 result, $7 failure.
INSERT INTO instances (shard, id, workflow, input, status, result, failure, ended_at)
SELECT $1, b.id, b.workflow, b.input, b.status, b.result, b.failure, CASE WHEN b.status <> 'running' THEN clock_timestamp() END
FROM unnest($2::uuid[], $3::int[], $4::json[], $5::text[], $6::json[], $7::json[])
    AS b (id, workflow, input, status, result, failure)
ON CONFLICT (shard, id) DO NOTHING
RETURNING id, pg_current_xact_id()::text
