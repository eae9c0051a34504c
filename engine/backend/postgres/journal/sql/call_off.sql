-- withdraw.sql for a request that may not have been stored: if it still comes, it finds its place taken. $1 shard, $2 id.
INSERT INTO requests (shard, id, body, withdrawn) VALUES ($1, $2, '', true)
ON CONFLICT (shard, id) DO UPDATE SET withdrawn = true
RETURNING taken, answer, applied
