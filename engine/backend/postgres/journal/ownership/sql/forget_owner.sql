-- Forgets an engine that is closed, and tells the others. $1 name, $2 channel, $3 what they hear.
WITH gone AS (
    DELETE FROM owners WHERE name = $1
)
SELECT pg_notify($2, $3)
