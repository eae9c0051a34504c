-- Writes the ends of attempts into the ledger, except stale ones. Rows are looked up by their whole key, locked in the order of
-- the arrays, and changed by ctid. OFFSET 0 keeps the conditions on token and status out of the lookup: otherwise the planner
-- uses the index of due times, and reads the whole shard for each row. Returns ords, and whether the row could be changed.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token, $7 wait before a retry in µs or null,
-- $8 result, $9 failure
WITH offered AS MATERIALIZED (
    SELECT c.ord, c.wait, c.result, c.failure, l.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::json[], $9::json[])
        AS c (ord, instance_id, node, path, token, wait, result, failure)
    CROSS JOIN LATERAL (
        SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = c.instance_id OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT l.ctid AS at, l.token, l.status
        FROM ledger l
        WHERE l.shard = $1 AND l.instance_id = c.instance_id AND l.node = c.node AND l.path = c.path
        OFFSET 0
        FOR UPDATE
    ) l
    WHERE l.token = c.token AND l.status = 'leased' AND i.status = 'running'
), done AS (
    UPDATE ledger l
    SET status = CASE WHEN o.wait IS NULL THEN 'completed' ELSE 'queued' END,
        attempt = l.attempt + CASE WHEN o.wait IS NULL THEN 0 ELSE 1 END,
        redeliveries = 0,
        due_at = clock_timestamp() + coalesce(o.wait, 0) * interval '1 microsecond',
        done = CASE WHEN o.wait IS NULL THEN nextval('tokens') END,
        result = o.result,
        failure = o.failure
    FROM offered o
    WHERE l.ctid = o.at
    RETURNING o.ord
)
SELECT ord, true FROM done
UNION ALL
SELECT ord, false FROM offered WHERE ord NOT IN (SELECT ord FROM done)
