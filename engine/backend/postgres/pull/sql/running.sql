-- The running instances of a shard, in order. $1 shard.
SELECT id FROM instances WHERE shard = $1 AND status = 'running' ORDER BY id
