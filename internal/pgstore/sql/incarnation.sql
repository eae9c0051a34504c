-- Reads the server's incarnation. The first reader after a crash creates it.
WITH new AS (
    INSERT INTO incarnation DEFAULT VALUES
    ON CONFLICT DO NOTHING
    RETURNING id
)
SELECT id::text FROM new
UNION ALL
SELECT id::text FROM incarnation
LIMIT 1
