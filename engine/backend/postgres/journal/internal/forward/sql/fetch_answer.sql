-- Reads the answer to a request; null until there is one. $1 shard, $2 id.
SELECT answer FROM requests WHERE shard = $1 AND id = $2
