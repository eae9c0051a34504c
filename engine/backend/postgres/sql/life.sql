-- Names the server's present life; the first who asks in it names it.
WITH new AS (
    INSERT INTO lives DEFAULT VALUES
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id::text FROM new
UNION ALL
SELECT id::text FROM lives
LIMIT 1
