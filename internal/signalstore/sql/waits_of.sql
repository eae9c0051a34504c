-- Reads the waits of an instance. $1 instance, $2 most.
SELECT w.instance_id, w.node, w.path, w.token, w.attempt, w.name, w.since, w.deadline, w.timed_out, w.signal IS NOT NULL
FROM signal_waits w
WHERE w.instance_id = $1
ORDER BY w.since, w.node, w.path
LIMIT $2
