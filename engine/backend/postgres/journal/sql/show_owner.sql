-- Reads who owns a shard, and whether the owner has adopted an instance. $1 shard, $2 instance.
SELECT coalesce(s.owner, ''), s.expires_at, (SELECT NOT i.pending FROM instances i WHERE i.shard = $1 AND i.id = $2)
FROM shards s WHERE s.shard = $1
