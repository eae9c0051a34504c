-- Makes the waits due that due signals are for, and returns the instances of signals that are old. Those are looked at again after
-- some hours. Rows are locked in the order in which a wait takes a signal: first waits. A locked signal stays due. $1 most.
WITH due AS MATERIALIZED (
    SELECT s.seq, s.instance_id, s.name
    FROM signals s
    WHERE s.due_at <= statement_timestamp()
    ORDER BY s.due_at
    LIMIT $1
), waiting AS MATERIALIZED (
    SELECT w.instance_id, w.node, w.path
    FROM (SELECT DISTINCT d.instance_id, d.name FROM due d) d
    CROSS JOIN LATERAL (
        SELECT w.instance_id, w.node, w.path FROM signal_waits w
        WHERE w.instance_id = d.instance_id AND w.name = d.name AND w.signal IS NULL AND NOT w.timed_out
        OFFSET 0
    ) k
    JOIN signal_waits w ON w.instance_id = k.instance_id AND w.node = k.node AND w.path = k.path
    ORDER BY w.instance_id, w.node, w.path
    FOR UPDATE OF w
), woken AS (
    UPDATE signal_waits w -- by the key: a row that has changed since the statement's beginning has another ctid
    SET due_at = statement_timestamp()
    FROM waiting v
    WHERE w.instance_id = v.instance_id AND w.node = v.node AND w.path = v.path
), locked AS MATERIALIZED (
    SELECT s.at
    FROM (SELECT count(*) FROM waiting) first
    CROSS JOIN due d
    CROSS JOIN LATERAL (SELECT s.ctid AS at FROM signals s WHERE s.seq = d.seq FOR UPDATE SKIP LOCKED) s
)
UPDATE signals s
SET due_at = clock_timestamp() + interval '6 hours'
FROM locked l
WHERE s.ctid = l.at
RETURNING s.instance_id, s.sent_at < clock_timestamp() - interval '1 hour'
