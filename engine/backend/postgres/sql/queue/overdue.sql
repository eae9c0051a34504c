-- Puts node runs whose lease is over before all that waits for its first: they have had their turn, and would have it
-- again behind everything that was queued before their lease ended. A claim takes them in any case; only where more is
-- queued than there is room for does the order count. Only the rows that became due last are looked at, since a lease
-- that ended before has been found by an earlier sweep.
-- $1 shard, $2 how many rows are looked at.
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
