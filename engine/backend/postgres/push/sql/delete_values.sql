-- Takes values away that are over, cancelled or replaced: of a variable those whose path is low or follows
-- it, before high, from an element on: -1 is the value itself, and what was appended to it follows.
-- Something is done for events that took place: all of them if that is known, else those of the commit that
-- is this transaction, if it has left its mark, which it did not find stale.
-- $1 shard; $2 backend, $3 slot, $4 number of the commit, $5 whether all took place
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
