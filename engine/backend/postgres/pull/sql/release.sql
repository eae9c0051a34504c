-- Gives up the leases that a transaction took whose COMMIT was lost: nobody has heard of them. What has
-- changed since is not the transaction's any more. $1 shard, $2 instances, $3 the transaction's id.
WITH lost AS MATERIALIZED (
    SELECT l.at
    FROM unnest($2::uuid[]) AS c (instance_id)
    CROSS JOIN LATERAL (
        SELECT l.ctid AS at FROM ledger l
        WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.xmin = ($3::text::xid8)::xid AND l.status = 'leased'
        FOR UPDATE SKIP LOCKED
    ) l
)
UPDATE ledger l SET status = 'queued', due_at = clock_timestamp(), owner = NULL FROM lost WHERE l.ctid = lost.at
