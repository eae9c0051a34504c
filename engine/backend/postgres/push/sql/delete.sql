-- Deletes rows of regions that have ended or are cancelled: low <= path < high. Node runs are locked already
-- (lock_cancelled.sql). See delete_values.sql for which events.
-- $1 shard; $2 backend, $3 slot, $4 number of the commit, $5 whether all were applied
-- ranges: $6 ord, $7 instance, $8 node, $9 low, $10 high
WITH mark AS MATERIALIZED (
    SELECT m.stale FROM commits m WHERE m.shard = $1 AND m.backend = $2 AND m.slot = $3 AND m.number = $4
), over AS MATERIALIZED (
    SELECT t.at
    FROM unnest($6::int[], $7::uuid[], $8::int[], $9::text[], $10::text[]) AS r (ord, instance_id, node, low, high)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at
        FROM {table} t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.node = r.node AND t.path >= r.low AND t.path < r.high
        OFFSET 0
    ) t
    WHERE $5::boolean OR EXISTS (SELECT FROM mark m WHERE r.ord <> ALL (m.stale))
)
DELETE FROM {table} t USING over o WHERE t.ctid = o.at
