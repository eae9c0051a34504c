-- Appends events if the shard is owned in the epoch, else none.
-- $1 shard, $2 epoch
-- events: $3 seq, $4 instance, $5 kind, $6 node, $7 path, $8 token, $9 whether time matters, $10 data
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint FOR KEY SHARE
)
INSERT INTO events (shard, seq, instance_id, kind, node, path, token, happened_at, data)
SELECT $1::smallint, e.seq, e.instance_id, e.kind, e.node, e.path, e.token, CASE WHEN e.timed THEN clock_timestamp() END, e.data
FROM unnest($3::bigint[], $4::uuid[], $5::smallint[], $6::int[], $7::text[], $8::bigint[], $9::boolean[], $10::bytea[])
    AS e (seq, instance_id, kind, node, path, token, timed, data)
WHERE EXISTS (SELECT FROM fence)
