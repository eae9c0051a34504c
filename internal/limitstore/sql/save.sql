-- Stores the states of limits whose versions are current, skipping rows that others are changing, whose version will not be. $1
-- names, in order, $2 versions, $3 states.
WITH current AS MATERIALIZED (
    SELECT l.name, w.state
    FROM unnest($1::text[], $2::bigint[], $3::text[]) AS w (name, version, state)
    CROSS JOIN LATERAL (SELECT l.name FROM limits l WHERE l.name = w.name AND l.version = w.version FOR UPDATE SKIP LOCKED) l
)
UPDATE limits l
SET state = c.state::json, version = l.version + 1
FROM current c
WHERE l.name = c.name
RETURNING l.name
