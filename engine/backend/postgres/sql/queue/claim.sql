-- Leases node runs that are due: queued ones and those whose lease is over. Rows of an instance that has
-- ended wait to be swept.
-- What is due is compared with the time of the statement, which an index can use; the clock, which may
-- change from row to row, it cannot, and every leased row would be read.
-- A lease that is over counts as a delivery; one that was given up has left no trace.
-- $1 shard, $2 most, $3 owner, $4 lease in µs.
WITH due AS MATERIALIZED (
    SELECT q.ctid AS at, i.workflow
    FROM {table} q
    CROSS JOIN LATERAL (
        SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = q.instance_id OFFSET 0
    ) i
    WHERE q.shard = $1 AND {ready} AND q.due_at <= statement_timestamp() AND i.status = 'running'
    ORDER BY {due}
    LIMIT $2
    FOR UPDATE OF q SKIP LOCKED
)
UPDATE {table} q
SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', token = nextval('tokens'), {lease}, redeliveries = q.redeliveries + ({leased})::int
FROM due
WHERE q.ctid = due.at
RETURNING q.instance_id, q.node, q.path, q.token, q.attempt, due.workflow, q.args, q.redeliveries + 1
