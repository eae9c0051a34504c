-- Returns due waits, the earliest first, and makes them due again after a while. $1 most, $2 that while in µs.
WITH due AS MATERIALIZED (
    SELECT w.ctid AS at
    FROM signal_waits w
    WHERE w.due_at <= statement_timestamp()
    ORDER BY w.due_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
UPDATE signal_waits w
SET due_at = clock_timestamp() + $2::bigint * interval '1 microsecond'
FROM due d
WHERE w.ctid = d.at
RETURNING w.instance_id, w.node, w.path, w.token, w.attempt, w.name, w.since, w.deadline, w.timed_out, w.signal IS NOT NULL
