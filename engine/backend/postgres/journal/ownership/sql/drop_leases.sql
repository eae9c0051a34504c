-- Removes the leases that came with a shard, which its owner knows by now. No row: the shard is not owned in the epoch any
-- more. $1 shard, $2 epoch.
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
), dropped AS (
    DELETE FROM leases WHERE shard = $1 AND EXISTS (SELECT FROM fence)
)
SELECT FROM fence
