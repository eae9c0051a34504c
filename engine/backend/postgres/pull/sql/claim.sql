-- Leases node runs that are due: queued ones, and those whose lease has expired. due_at is compared with statement_timestamp,
-- which an index can use; with the volatile clock, every leased row would be read. An expired lease counts as a delivery; a
-- returned one does not.
-- $1 shard, $2 most, $3 owner, $4 lease in µs; $5 workflows to skip.
WITH due AS MATERIALIZED (
    SELECT d.ctid AS at
    FROM ledger d
    WHERE d.shard = $1 AND d.status <> 'completed' AND d.due_at <= statement_timestamp()
        AND (cardinality($5::int[]) = 0 OR NOT EXISTS (
            SELECT FROM instances i WHERE i.shard = $1 AND i.id = d.instance_id AND i.workflow = ANY ($5::int[]) OFFSET 0
        ))
    ORDER BY d.due_at, d.token
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE ledger q
    SET status = 'leased', due_at = clock_timestamp() + $4::bigint * interval '1 microsecond',
        token = nextval('tokens'), redeliveries = q.redeliveries + (q.status = 'leased')::int, owner = $3::text
    FROM due
    WHERE q.ctid = due.at
    RETURNING q.instance_id, q.node, q.path, q.token, q.attempt, q.redeliveries, q.args
)
SELECT t.instance_id, t.node, t.path, t.token, t.attempt, i.workflow, coalesce(t.args, a.args), t.redeliveries + 1
FROM taken t
CROSS JOIN LATERAL (SELECT i.workflow FROM instances i WHERE i.shard = $1 AND i.id = t.instance_id OFFSET 0) i
LEFT JOIN LATERAL (
    SELECT a.args FROM arrivals a
    WHERE a.shard = $1 AND a.instance_id = t.instance_id AND a.node = t.node AND a.path = t.path AND a.args IS NOT NULL
    OFFSET 0
) a ON true
