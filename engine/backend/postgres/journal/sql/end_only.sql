-- append.sql where all that happened ended its instance, whose row says so.
-- $1 shard, $2 epoch
-- ends: $3 instance, $4 status, $5 result, $6 failure, $7 token
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), ended AS (
    UPDATE instances i
    SET status = e.status, result = e.result, failure = e.failure, ended_by = e.token, pending = false, ended_at = clock_timestamp()
    FROM (
        SELECT u.*, r.at
        FROM unnest($3::uuid[], $4::text[], $5::json[], $6::json[], $7::bigint[])
            AS u (id, status, result, failure, token)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1 AND r.id = u.id AND r.status = 'running' FOR UPDATE
        ) r
        WHERE EXISTS (SELECT FROM fence)
    ) e
    WHERE i.ctid = e.at
    RETURNING i.id
)
SELECT (SELECT count(*) FROM fence)::int, (SELECT count(*) FROM ended)::int
