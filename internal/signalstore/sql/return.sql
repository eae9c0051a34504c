-- Removes a wait, and lets others take its signal, which is new again. $1 instance, $2 node, $3 path, $4 token.
WITH ended AS (
    DELETE FROM signal_waits w
    WHERE w.instance_id = $1 AND w.node = $2 AND w.path = $3 AND w.token = $4
    RETURNING w.signal
)
UPDATE signals s SET taken = false, due_at = statement_timestamp() FROM ended e WHERE s.seq = e.signal
