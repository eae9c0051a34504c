-- Stores a wait, or gives the one of its node run another lease. $1 instance, $2 node, $3 path, $4 token, $5 attempt, $6 name, $7
-- timeout in µs, 0: none, $8 after how many µs it is due.
INSERT INTO signal_waits AS w (instance_id, node, path, token, attempt, name, since, deadline, due_at)
SELECT $1, $2, $3, $4, $5, $6, now.at, CASE WHEN $7::bigint > 0 THEN now.at + $7::bigint * interval '1 microsecond' END, now.at + $8::bigint * interval '1 microsecond'
FROM (SELECT clock_timestamp() AS at) now
ON CONFLICT (instance_id, node, path) DO UPDATE
SET token = excluded.token, attempt = excluded.attempt, due_at = excluded.due_at,
    since = CASE WHEN w.attempt = excluded.attempt THEN w.since ELSE excluded.since END,
    deadline = CASE WHEN w.attempt = excluded.attempt THEN w.deadline ELSE excluded.deadline END,
    timed_out = w.timed_out AND w.attempt = excluded.attempt
WHERE w.token < excluded.token
