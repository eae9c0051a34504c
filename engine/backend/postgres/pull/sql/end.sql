-- Ends running instances and returns them. $1 shard; $2 instance, $3 status, $4 result, $5 failure
WITH ended AS MATERIALIZED (
    SELECT e.*, i.at
    FROM unnest($2::uuid[], $3::text[], $4::json[], $5::json[]) AS e (instance_id, status, result, failure)
    CROSS JOIN LATERAL (
        SELECT i.ctid AS at FROM instances i WHERE i.shard = $1 AND i.id = e.instance_id AND i.status = 'running' FOR UPDATE
    ) i
)
UPDATE instances i
SET status = e.status, result = e.result, failure = e.failure, ended_at = clock_timestamp()
FROM ended e
WHERE i.ctid = e.at
RETURNING i.id
