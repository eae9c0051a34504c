-- Stores the states of schedules whose versions are current. Rows are locked in the order of the arrays. $1 ids, $2 versions, $3
-- states, $4 due at.
WITH current AS MATERIALIZED (
    SELECT s.id, w.state, w.due_at
    FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::timestamptz[]) AS w (id, version, state, due_at)
    CROSS JOIN LATERAL (SELECT s.id FROM schedules s WHERE s.id = w.id AND s.version = w.version FOR UPDATE) s
)
UPDATE schedules s
SET state = c.state::json, version = s.version + 1, due_at = c.due_at
FROM current c
WHERE s.id = c.id
RETURNING s.id
