-- Lets a wait be due later, unless it is due, or a signal for it is there, and reports that. The signals are those of the statement's
-- beginning: if a newer one was noticed while the statement waited for the row, the wait is due. $1 instance, $2 node, $3 path, $4
-- token, $5 after how many µs.
WITH wait AS MATERIALIZED (
    SELECT w.due_at <= clock_timestamp() OR EXISTS (
        SELECT FROM signals s WHERE s.instance_id = w.instance_id AND s.name = w.name AND NOT s.taken
    ) AS due
    FROM signal_waits w
    WHERE w.instance_id = $1 AND w.node = $2 AND w.path = $3 AND w.token = $4
    FOR UPDATE
)
UPDATE signal_waits w
SET due_at = CASE WHEN v.due THEN least(w.due_at, clock_timestamp()) ELSE clock_timestamp() + $5::bigint * interval '1 microsecond' END
FROM wait v
WHERE w.instance_id = $1 AND w.node = $2 AND w.path = $3 AND w.token = $4
RETURNING v.due
