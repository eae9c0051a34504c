-- Appends events if the shard is owned in the epoch, else none.
-- $1 shard, $2 epoch, $3 the seq before the first
-- events: $4 instance, $5 node, $6 path, $7 data
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint FOR KEY SHARE
)
INSERT INTO events (shard, kind, node, seq, epoch, instance_id, path, data)
SELECT $1::smallint, 0, e.node, $3::bigint + e.place, $2::bigint, e.instance_id, e.path, e.data
FROM unnest($4::uuid[], $5::int[], $6::text[], $7::bytea[]) WITH ORDINALITY AS e (instance_id, node, path, data, place)
WHERE EXISTS (SELECT FROM fence)
