-- Appends events if the shard is owned in the epoch, else none: one per row, or packed. The part between --[ and --] is
-- omitted if nothing of its name is written; with instances, the fence's count is returned.
-- $1 shard, $2 epoch, $3 the seq before the first
-- events: $4 instance, $5 node, $6 path, $7 data; packs: $14 the first event's seq of each, $15 events
-- ends: $8 instance, $9 result, $10 token; submissions: $11 instance, $12 workflow, $13 input
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint FOR KEY SHARE
)
--[ instances
, ended AS (
    UPDATE instances i
    SET ended_at = clock_timestamp(), pending = false, ended_by = e.token, result = e.result, status = 'completed'
    FROM (
        SELECT u.result, u.token, r.at
        FROM unnest($8::uuid[], $9::json[], $10::bigint[]) AS u (id, result, token)
        CROSS JOIN LATERAL (
            SELECT r.ctid AS at FROM instances r WHERE r.shard = $1::smallint AND r.id = u.id AND r.status = 'running' FOR UPDATE
        ) r
        WHERE EXISTS (SELECT FROM fence)
    ) e
    WHERE i.ctid = e.at
), created AS (
    INSERT INTO instances (shard, id, workflow, input, status)
    SELECT $1::smallint, n.id, n.workflow, n.input, 'running'
    FROM unnest($11::uuid[], $12::int[], $13::json[]) AS n (id, workflow, input)
    WHERE EXISTS (SELECT FROM fence)
), appended AS (
--]
--[ events
INSERT INTO events (shard, kind, node, seq, epoch, instance_id, path, data)
SELECT $1::smallint, 0, e.node, $3::bigint + e.place, $2::bigint, e.instance_id, e.path, e.data
FROM unnest($4::uuid[], $5::int[], $6::text[], $7::bytea[]) WITH ORDINALITY AS e (instance_id, node, path, data, place)
WHERE EXISTS (SELECT FROM fence)
--]
--[ packs
INSERT INTO packs (shard, seq, epoch, data)
SELECT $1::smallint, p.seq, $2::bigint, p.data
FROM unnest($14::bigint[], $15::bytea[]) AS p (seq, data)
WHERE EXISTS (SELECT FROM fence)
--]
--[ instances
)
SELECT count(*) FROM fence
--]
