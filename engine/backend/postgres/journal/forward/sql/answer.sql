-- Answers a request that was not withdrawn, and tells who asked. $1 shard, $2 id, $3 answer, $4 channel, $5 what who asked hears.
UPDATE requests SET answer = $3 WHERE shard = $1 AND id = $2 AND NOT withdrawn RETURNING pg_notify($4, $5)
