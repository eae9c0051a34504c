-- Withdraws a request that may not have been stored: a request that arrives later finds its row. The last column says whether
-- the server has not crashed since the request was sent: otherwise a crash may have removed the row, and what was applied stands.
-- $1 shard, $2 id, $3 the server's incarnation.
WITH off AS (
    INSERT INTO requests (shard, id, body, withdrawn) VALUES ($1, $2, '', true)
    ON CONFLICT (shard, id) DO UPDATE SET withdrawn = true
    RETURNING fetched, answer, applied
)
SELECT fetched, answer, applied, EXISTS (SELECT FROM incarnation WHERE id = $3::uuid) FROM off
