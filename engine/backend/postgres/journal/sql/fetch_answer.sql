-- Takes the answer to a request, if it is there. $1 shard, $2 id.
DELETE FROM requests WHERE shard = $1 AND id = $2 AND answer IS NOT NULL RETURNING answer
