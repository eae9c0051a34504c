-- Withdraws a request that may not have been stored: if it arrives later, it finds this row. The last column reports whether the
-- server has not crashed since the request was sent: a crash would have removed the row, but not what was applied. $1 shard, $2
-- id, $3 the server's incarnation.
WITH off AS (
    INSERT INTO requests (shard, id, body, withdrawn) VALUES ($1, $2, '', true)
    ON CONFLICT (shard, id) DO UPDATE SET withdrawn = true
    RETURNING fetched, answer, applied
)
SELECT fetched, answer, applied, EXISTS (SELECT FROM incarnation WHERE id = $3::uuid) FROM off
