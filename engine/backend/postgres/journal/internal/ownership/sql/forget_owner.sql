-- Removes a closed engine and notifies the others. $1 name, $2 channel, $3 payload.
WITH gone AS (
    DELETE FROM owners WHERE name = $1
)
SELECT pg_notify($2, $3)
