-- Prolongs leases that are still held, and none of an instance that has ended: a canceled one's rows go later. Rows that
-- somebody has are left out: who waited for one would keep the others from a cycle that may have it.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token; $7 lease in µs.
WITH held AS MATERIALIZED (
    SELECT l.ord, q.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT FROM instances i WHERE i.shard = $1 AND i.id = l.instance_id AND i.status = 'running' OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, q.token, q.status
        FROM ledger q
        WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.path = l.path
        OFFSET 0
        FOR UPDATE SKIP LOCKED
    ) q
    WHERE q.token = l.token AND q.status = 'leased'
)
UPDATE ledger q
SET due_at = clock_timestamp() + $7::bigint * interval '1 microsecond'
FROM held h
WHERE q.ctid = h.at
RETURNING h.ord
