-- Moves node runs with expired leases before those that wait for their first: otherwise they would wait again, behind all that
-- was queued before their lease expired. A claim takes them anyway; the order matters only if more is queued than engines can
-- take. Only the rows that became due last are checked: earlier sweeps found earlier ones.
-- $1 shard, $2 most rows to check.
WITH recent AS MATERIALIZED (
    SELECT q.ctid AS at, {leased} AS leased
    FROM {table} q
    WHERE q.shard = $1 AND {ready} AND q.due_at <= statement_timestamp() AND q.due_at > statement_timestamp() - interval '50 years'
    ORDER BY {latest}
    LIMIT $2
), overdue AS MATERIALIZED (
    SELECT l.at
    FROM recent r
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at FROM {table} q
        WHERE q.ctid = r.at AND {leased} AND q.due_at <= statement_timestamp()
        FOR UPDATE SKIP LOCKED
    ) l
    WHERE r.leased
)
UPDATE {table} q SET due_at = q.due_at - interval '100 years'
FROM overdue o
WHERE q.ctid = o.at
