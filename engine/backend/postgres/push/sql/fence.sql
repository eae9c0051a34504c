-- Gives new tokens to the open completions of an unconfirmed commit, which is stale if it is executed later. The same transaction
-- has locked the rows before, so that this sees the result of a commit in flight.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
WITH held AS MATERIALIZED (
    SELECT l.ord, q.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.path = l.path AND q.token = l.token
        FOR UPDATE
    ) q
)
UPDATE queue q
SET token = nextval('tokens')
FROM held h
WHERE q.ctid = h.at
RETURNING h.ord, q.token
