-- Answers a request unless it was withdrawn, and notifies the calling engine. $1 shard, $2 id, $3 answer, $4 channel, $5 payload.
UPDATE requests SET answer = $3 WHERE shard = $1 AND id = $2 AND NOT withdrawn RETURNING pg_notify($4, $5)
