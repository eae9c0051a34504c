-- Removes node runs of regions that are over or called off: those whose path is low or follows it, before
-- high. Completions of this transaction keep their rows, by which an unknown commit is settled; see live.
-- A completion took place if this transaction has written its row as completed.
-- A row that is locked is skipped, and goes with the next clear or the end: it is of a run that has completed,
-- and was locked by somebody who did not know that yet and may wait for a row that is held here.
-- $1 shard; completions: $2 ord, $3 instance, $4 node, $5 path, $6 token; $7 ord of what is known to have taken place
-- ranges: $8 ord, $9 instance, $10 node, $11 low, $12 high
WITH live AS MATERIALIZED (
    SELECT c.ord
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS c (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT q.token, q.status, q.xmin AS by
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
        OFFSET 0
    ) q
    WHERE q.token = c.token AND q.status = 'completed' AND q.by = pg_current_xact_id()::xid
    UNION ALL
    SELECT ord FROM unnest($7::int[]) AS k (ord)
), over AS MATERIALIZED (
    SELECT t.at
    FROM unnest($8::int[], $9::uuid[], $10::int[], $11::text[], $12::text[]) AS r (ord, instance_id, node, low, high)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at
        FROM queue t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path >= r.low AND t.path < r.high
            AND NOT (t.status = 'completed' AND t.xmin = pg_current_xact_id()::xid)
        FOR UPDATE SKIP LOCKED
    ) t
    WHERE (r.ord IN (SELECT ord FROM live)) IS TRUE
)
DELETE FROM queue t USING over o WHERE t.ctid = o.at
