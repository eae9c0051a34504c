-- Prolongs leases that are still held, and none of an instance that has ended: a canceled one's rows go later. Rows
-- that somebody has are left out: one that is waited for in vain stays locked, and who has the next may want it (D5).
-- $1 shard; $2 ord, $3 instance, $4 node, $5 place, $6 token; $7 lease in µs.
WITH held AS MATERIALIZED (
    SELECT l.ord, r.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, place, token)
    CROSS JOIN LATERAL (
        SELECT FROM instances i WHERE i.shard = $1 AND i.id = l.instance_id AND i.status = 'running' OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at
        FROM node_ready_state r
        WHERE r.shard = $1 AND r.instance_id = l.instance_id AND r.node = l.node AND r.place = l.place
            AND r.token = l.token AND r.is_queued AND NOT r.is_completed
        FOR UPDATE SKIP LOCKED
    ) r
)
UPDATE node_ready_state r
SET due_at = clock_timestamp() + $7::bigint * interval '1 microsecond'
FROM held h
WHERE r.ctid = h.at
RETURNING h.ord
