-- Stores a definition, if new, and returns its number. $1 hash, $2 definition.
WITH new AS (
    INSERT INTO workflows (hash, definition) VALUES ($1, $2)
    ON CONFLICT (hash) DO NOTHING
    RETURNING id
)
SELECT id FROM new
UNION ALL
SELECT id FROM workflows WHERE hash = $1
LIMIT 1
