-- Ends instances: $1 shard, $2 instances, $3 results, $4 tokens.
UPDATE instances i
SET ended_at = clock_timestamp(), pending = false, ended_by = e.token, result = e.result, status = 'completed'
FROM (
    SELECT u.result, u.token, r.at
    FROM unnest($2::uuid[], $3::json[], $4::bigint[]) AS u (id, result, token)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' FOR UPDATE
    ) r
) e
WHERE i.ctid = e.at
