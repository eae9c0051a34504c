-- Returns and locks one row if the shard is owned in the epoch: $1 shard, $2 epoch.
SELECT s.epoch FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint FOR KEY SHARE
