-- Renews or returns leases that are held, except those of ended instances. It skips locked rows: waiting for one while it holds
-- others would break the lock order (D5).
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token; $7 lease in µs, or when returned, pause in µs.
WITH held AS MATERIALIZED (
    SELECT l.ord, q.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT FROM instances i WHERE i.shard = $1 AND i.id = l.instance_id AND i.status = 'running' OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at
        FROM {table} q
        WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.{path} = l.path
            AND q.token = l.token AND {leased}
        FOR UPDATE SKIP LOCKED
    ) q
)
UPDATE {table} q
--[ renewed
SET due_at = clock_timestamp() + $7::bigint * interval '1 microsecond'
--]
--[ given back
SET {free}, token = nextval('tokens'),
    due_at = clock_timestamp() + CASE $7::bigint WHEN 0 THEN interval '-100 years' ELSE $7 * interval '1 microsecond' END -- without a pause to the front, see overdue.sql
--]
FROM held h
WHERE q.ctid = h.at
RETURNING h.ord
