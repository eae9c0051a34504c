-- Asks the owner of a shard. $1 shard, $2 id, $3 body, $4 channel, $5 what the owner hears.
WITH asked AS (
    INSERT INTO requests (shard, id, body) VALUES ($1, $2, $3)
)
SELECT pg_notify($4, $5)
