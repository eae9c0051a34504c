-- Leases node runs that are due, an equal part of each workflow or instance whose turn it is. Leases are as in queue/claim.sql. With
-- instances, it also returns up to which one it looked, null at the last: in a row of its own if nothing was due.
-- $1 shard, $2 most, $3 owner, $4 lease in µs, $5 the last workflow or instance that had a turn.
WITH RECURSIVE
--[ workflows
-- Each probe of the index finds the next workflow, and when its first node run is due.
every AS (
    (
        SELECT q.workflow, q.due_at FROM queue q
        WHERE q.shard = $1 AND q.workflow IS NOT NULL AND q.due_at > '-infinity'
        ORDER BY q.workflow, q.due_at LIMIT 1
    )
    UNION ALL
    SELECT n.workflow, n.due_at
    FROM every e
    CROSS JOIN LATERAL (
        SELECT q.workflow, q.due_at FROM queue q
        WHERE q.shard = $1 AND q.workflow > e.workflow AND q.due_at > '-infinity'
        ORDER BY q.workflow, q.due_at LIMIT 1
    ) n
), turns AS MATERIALIZED (
    SELECT t.workflow, count(*) OVER () AS of
    FROM (SELECT * FROM every LIMIT 1000) t
    WHERE t.due_at <= statement_timestamp()
), due AS MATERIALIZED (
    SELECT d.*
    FROM (SELECT * FROM turns ORDER BY workflow <= $5::int, workflow) t
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, i.workflow, q.due_at
        FROM queue q
        CROSS JOIN LATERAL (
            SELECT i.status, i.workflow FROM instances i WHERE i.shard = $1 AND i.id = q.instance_id OFFSET 0
        ) i
        WHERE q.shard = $1 AND q.workflow = t.workflow AND i.status = 'running' AND q.due_at <= statement_timestamp()
        ORDER BY q.due_at
        LIMIT ($2::bigint + t.of - 1) / t.of
        FOR UPDATE OF q SKIP LOCKED
    ) d
    LIMIT $2
)
--]
--[ instances
-- Each probe of the key finds the next instance. Many of them may have nothing that is due, and an instance that has many node runs which
-- are not due may have its turn by time only.
every AS (
    (SELECT q.instance_id FROM queue q WHERE q.shard = $1 AND q.instance_id > $5::uuid ORDER BY q.instance_id LIMIT 1)
    UNION ALL
    SELECT n.instance_id
    FROM every e
    CROSS JOIN LATERAL (
        SELECT q.instance_id FROM queue q WHERE q.shard = $1 AND q.instance_id > e.instance_id ORDER BY q.instance_id LIMIT 1
    ) n
), turns AS MATERIALIZED (
    SELECT t.instance_id, count(*) OVER () AS of FROM (SELECT * FROM every LIMIT 8 + 2 * $2::bigint) t
), due AS MATERIALIZED (
    SELECT d.*
    FROM turns t
    CROSS JOIN LATERAL (
        SELECT i.workflow FROM instances i WHERE i.shard = $1 AND i.id = t.instance_id AND i.status = 'running' OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT l.at, i.workflow, l.due_at
        FROM (
            SELECT q.ctid AS at FROM queue q
            WHERE q.shard = $1 AND q.instance_id = t.instance_id
            ORDER BY q.node, q.path
            LIMIT 100 + $2::bigint
        ) f
        CROSS JOIN LATERAL (
            SELECT q.ctid AS at, q.due_at FROM queue q
            WHERE q.ctid = f.at AND q.due_at <= statement_timestamp()
            FOR UPDATE SKIP LOCKED
        ) l
        LIMIT ($2::bigint + t.of - 1) / t.of
    ) d
    LIMIT $2
), leased AS (
--]
UPDATE queue q
SET due_at = clock_timestamp() + $4::bigint * interval '1 microsecond', token = nextval('tokens'), owner = $3::int, redeliveries = q.redeliveries + (q.owner IS NOT NULL)::int
FROM due
WHERE q.ctid = due.at
RETURNING q.instance_id, q.node, q.path, q.token, q.attempt, due.workflow, q.args, q.redeliveries + 1,
    (date_part('epoch', due.due_at - clock_timestamp()) * 1000000)::bigint
--[ instances
)
SELECT l.*, u.until
FROM (
    SELECT CASE WHEN t.of = 8 + 2 * $2::bigint THEN t.instance_id END AS until FROM turns t ORDER BY t.instance_id DESC LIMIT 1
) u
LEFT JOIN leased l ON true
--]
