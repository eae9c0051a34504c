-- Reads the leases that came with a shard, and renews the lease on the shard until they end. No row: the shard no longer has the
-- epoch. A row without an instance: no leases came. counted: they record every delivery that no event records. $1 shard, $2
-- epoch.
WITH fence AS MATERIALIZED (
    SELECT s.epoch, s.counted FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), taken AS MATERIALIZED (
    SELECT instance_id, node, path, token, expires_at FROM leases WHERE shard = $1 AND EXISTS (SELECT FROM fence)
), prolonged AS (
    UPDATE shards s SET expires_at = t.latest
    FROM (SELECT max(expires_at) AS latest FROM taken) t
    WHERE s.shard = $1 AND s.epoch = $2 AND s.expires_at < t.latest
)
SELECT instance_id, node, path, token, (extract(epoch FROM expires_at - clock_timestamp()) * 1000000)::bigint, counted
FROM fence LEFT JOIN taken ON true
