-- Ends instances: $1 shard, $2 instances, $3 results.
UPDATE instances i
SET status = 'completed', needs_cleanup = false, result = e.result, failure = NULL, ended_at = clock_timestamp()
FROM (
    SELECT u.result, r.at
    FROM unnest($2::uuid[], $3::json[]) AS u (id, result)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' FOR UPDATE
    ) r
) e
WHERE i.ctid = e.at
