-- Leases due schedules, the earliest first. due_at is compared with statement_timestamp, which an index can use. $1 most, $2
-- lease in µs.
WITH due AS MATERIALIZED (
    SELECT s.id, s.due_at
    FROM schedules s
    WHERE s.due_at <= statement_timestamp()
    ORDER BY s.due_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE schedules s
SET due_at = clock_timestamp() + $2::bigint * interval '1 microsecond', version = s.version + 1
FROM due
WHERE s.id = due.id
RETURNING s.id, s.name, s.workflow, s.input, s.spec, s.state, s.version, due.due_at
