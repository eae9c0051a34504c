-- Returns the running instances of a shard, sorted. $1 shard.
SELECT id FROM instances WHERE shard = $1 AND status = 'running' ORDER BY id
