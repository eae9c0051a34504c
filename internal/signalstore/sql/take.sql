-- Gives a wait the oldest signal that is for it, or lets it time out. $1 instance, $2 node, $3 path, $4 token, $5 after how many µs it
-- is due.
WITH wait AS MATERIALIZED (
    SELECT w.instance_id, w.name, w.deadline, w.signal, w.timed_out
    FROM signal_waits w
    WHERE w.instance_id = $1 AND w.node = $2 AND w.path = $3 AND w.token = $4
    FOR UPDATE
), taken AS (
    UPDATE signals s
    SET taken = true
    WHERE s.seq = (
        SELECT f.seq
        FROM wait v
        JOIN signals f ON f.instance_id = v.instance_id AND f.name = v.name AND NOT f.taken
        WHERE v.signal IS NULL AND NOT v.timed_out
        ORDER BY f.seq
        LIMIT 1
        FOR UPDATE OF f
    )
    RETURNING s.seq, s.value
), come AS MATERIALIZED (
    SELECT coalesce(v.signal, t.seq) AS signal, coalesce(t.value, (SELECT s.value FROM signals s WHERE s.seq = v.signal)) AS value,
        v.timed_out OR v.signal IS NULL AND t.seq IS NULL AND v.deadline IS NOT NULL AND v.deadline <= clock_timestamp() AS timed_out
    FROM wait v LEFT JOIN taken t ON true
)
UPDATE signal_waits w
SET signal = v.signal, timed_out = v.timed_out, due_at = clock_timestamp() + $5::bigint * interval '1 microsecond'
FROM come v
WHERE w.instance_id = $1 AND w.node = $2 AND w.path = $3 AND w.token = $4
RETURNING w.since, w.deadline, w.timed_out, w.signal IS NOT NULL, v.value, clock_timestamp()
