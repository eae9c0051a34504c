-- Takes a request back that nobody has begun with. $1 shard, $2 id.
DELETE FROM requests WHERE shard = $1 AND id = $2 AND NOT taken
