-- Returns the leases that a transaction took, if its COMMIT was lost and the caller does not know them. Rows changed since then
-- no longer carry its id. $1 shard, $2 instances, $3 the transaction's id.
WITH lost AS MATERIALIZED (
    SELECT q.at
    FROM unnest($2::uuid[]) AS c (instance_id)
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at FROM {table} q
        WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.xmin = ($3::text::xid8)::xid AND {leased}
        FOR UPDATE SKIP LOCKED
    ) q
)
UPDATE {table} q
SET {free}, due_at = clock_timestamp()
FROM lost
WHERE q.ctid = lost.at
