-- Deletes all events of a range of seqs. $1 shard, $2 epoch, $3 first, $4 end (exclusive).
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
)
DELETE FROM events WHERE shard = $1 AND seq >= $3 AND seq < $4 AND EXISTS (SELECT FROM fence)
