-- Deletes the leases that came with a shard, once its owner has them in memory. No row: the shard no longer has the epoch. $1
-- shard, $2 epoch.
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), dropped AS (
    DELETE FROM leases WHERE shard = $1 AND EXISTS (SELECT FROM fence)
)
SELECT FROM fence
