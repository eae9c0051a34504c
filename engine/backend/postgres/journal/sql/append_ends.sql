-- append.sql where instances end and none has its state written down.
-- $1 shard, $2 epoch
-- events: $3 seq, $4 instance, $5 kind, $6 node, $7 path, $8 token, $9 whether time matters, $10 data
-- ends: $11 instance, $12 status, $13 result, $14 failure, $15 token
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), appended AS (
    INSERT INTO events (shard, seq, instance_id, kind, node, path, token, happened_at, data)
    SELECT $1, e.seq, e.instance_id, e.kind, e.node, e.path, e.token, CASE WHEN e.timed THEN clock_timestamp() END, e.data
    FROM unnest($3::bigint[], $4::uuid[], $5::smallint[], $6::int[], $7::text[], $8::bigint[], $9::boolean[], $10::bytea[])
        AS e (seq, instance_id, kind, node, path, token, timed, data)
    WHERE EXISTS (SELECT FROM fence)
), ended AS (
    UPDATE instances i
    SET status = e.status, result = e.result, failure = e.failure, ended_by = e.token, pending = false, ended_at = clock_timestamp()
    FROM (
        SELECT u.*, r.at
        FROM unnest($11::uuid[], $12::text[], $13::json[], $14::json[], $15::bigint[])
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
