-- Leases node runs that are due: queued ones, and those whose lease has expired. Rows of ended instances wait for cleanup. due_at
-- is compared with statement_timestamp, which an index can use; with the volatile clock, every leased row would be read. An
-- expired lease counts as a delivery; a returned one does not.
-- $1 shard, $2 most, $3 owner, $4 lease in µs, $5 for how long urgent ones have been due at least, in µs.
WITH due AS MATERIALIZED (
    SELECT q.ctid AS at, i.workflow, q.due_at
    FROM {table} q
    CROSS JOIN LATERAL (
        SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = q.instance_id OFFSET 0
    ) i
    WHERE q.shard = $1 AND {ready} AND i.status = 'running' AND q.due_at <= statement_timestamp()
--[ urgent
        - $5::bigint * interval '1 microsecond'
--]
    ORDER BY {due}
    LIMIT $2
    FOR UPDATE OF q SKIP LOCKED
)
UPDATE {table} q
SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', token = nextval('tokens'), {lease}, redeliveries = q.redeliveries + ({leased})::int
FROM due
WHERE q.ctid = due.at
RETURNING q.instance_id, q.node, q.path, q.token, q.attempt, due.workflow, q.args, q.redeliveries + 1,
    (date_part('epoch', due.due_at - clock_timestamp()) * 1000000)::bigint
