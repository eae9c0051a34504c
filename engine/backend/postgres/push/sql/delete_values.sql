-- Deletes values that have ended, are cancelled or replaced: low <= path < high, from an element on; -1 is the value itself,
-- appended ones follow. Only for applied events: all if $5, else those that the commit slot, written by this transaction, does
-- not call stale.
-- $1 shard; $2 backend, $3 slot, $4 number of the commit, $5 whether all were applied
-- ranges: $6 ord, $7 instance, $8 variable, $9 low, $10 high, $11 first element
WITH mark AS MATERIALIZED (
    SELECT m.stale FROM commits m WHERE m.shard = $1 AND m.backend = $2 AND m.slot = $3 AND m.number = $4
), over AS MATERIALIZED (
    SELECT t.at
    FROM unnest($6::int[], $7::uuid[], $8::int[], $9::text[], $10::text[], $11::int[])
        AS r (ord, instance_id, variable, low, high, first)
    CROSS JOIN LATERAL (
        SELECT t.ctid AS at
        FROM inbox t
        WHERE t.shard = $1 AND t.instance_id = r.instance_id AND t.variable = r.variable AND t.path >= r.low AND t.path < r.high
            AND t.element >= r.first
        OFFSET 0
    ) t
    WHERE $5::boolean OR EXISTS (SELECT FROM mark m WHERE r.ord <> ALL (m.stale))
)
DELETE FROM inbox t USING over o WHERE t.ctid = o.at
