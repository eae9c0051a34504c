-- Answers a request that was not withdrawn. $1 shard, $2 id, $3 answer.
UPDATE requests SET answer = $3 WHERE shard = $1 AND id = $2 AND NOT withdrawn
