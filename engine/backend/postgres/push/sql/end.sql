-- Deletes the counters and values of instances that this transaction ended. If one may have another open node run, it is marked
-- with needs_cleanup instead, and its ord is returned. An open node run has a queue row. If a transaction is deleting that row,
-- it stays visible until the commit, and then the rows that replace it are visible. Without a row, nothing can begin.
-- $1 shard; $2 backend, $3 slot, $4 number of the commit, $5 whether all were applied (delete_values.sql)
-- ends: $6 ord, $7 instance, $8 whether other node runs may be open
WITH mark AS MATERIALIZED (
    SELECT m.stale FROM commits m WHERE m.shard = $1 AND m.backend = $2 AND m.slot = $3 AND m.number = $4
), ended AS MATERIALIZED (
    SELECT e.ord, e.instance_id, i.at, i.needs_cleanup OR i.busy AS left_alone, i.needs_cleanup
    FROM unnest($6::int[], $7::uuid[], $8::boolean[]) AS e (ord, instance_id, shared)
    LEFT JOIN LATERAL (
        SELECT r.ctid AS at, r.needs_cleanup, EXISTS (
            SELECT FROM queue q WHERE q.shard = $1 AND q.instance_id = e.instance_id OFFSET 0
        ) AS busy
        FROM instances r
        WHERE e.shared AND r.shard = $1 AND r.id = e.instance_id
        OFFSET 0
    ) i ON true
    WHERE $5::boolean OR EXISTS (SELECT FROM mark m WHERE e.ord <> ALL (m.stale))
), over AS MATERIALIZED (
    SELECT e.instance_id FROM ended e WHERE e.left_alone IS NOT TRUE
), counters AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM readiness t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), vals AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM inbox t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), parts AS MATERIALIZED (
    SELECT t.at FROM over o
    CROSS JOIN LATERAL (SELECT t.ctid AS at FROM elements t WHERE t.shard = $1 AND t.instance_id = o.instance_id OFFSET 0) t
), uncounted AS (
    DELETE FROM readiness t USING counters c WHERE t.ctid = c.at
), unvalued AS (
    DELETE FROM inbox t USING vals v WHERE t.ctid = v.at
), unparted AS (
    DELETE FROM elements t USING parts p WHERE t.ctid = p.at
)
UPDATE instances i SET needs_cleanup = true
FROM ended e
WHERE i.ctid = e.at AND e.left_alone AND NOT e.needs_cleanup
RETURNING e.ord
