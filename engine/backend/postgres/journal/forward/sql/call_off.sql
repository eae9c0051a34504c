-- withdraw.sql for a request that may not have been stored: if it still comes, it finds its place taken. Whether the server
-- lives the same life as when it was sent is given, too: else a crash may have taken it, and what was made of it stands.
-- $1 shard, $2 id, $3 life.
WITH off AS (
    INSERT INTO requests (shard, id, body, withdrawn) VALUES ($1, $2, '', true)
    ON CONFLICT (shard, id) DO UPDATE SET withdrawn = true
    RETURNING taken, answer, applied
)
SELECT taken, answer, applied, EXISTS (SELECT FROM lives WHERE id = $3::uuid) FROM off
