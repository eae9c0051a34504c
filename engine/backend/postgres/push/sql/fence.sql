-- Gives completions whose commit was not confirmed a new token, where they are still open: the lost
-- commit, should the server get to it after all, is then stale. The rows have been locked before, by
-- a look whether they are held in the same transaction, so that this sees what a commit in flight made of them.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
WITH held AS MATERIALIZED (
    SELECT l.ord, q.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
    CROSS JOIN LATERAL (
        SELECT q.ctid AS at, q.token
        FROM queue q
        WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.path = l.path
        FOR UPDATE
    ) q
    WHERE q.token = l.token
)
UPDATE queue q
SET token = nextval('tokens')
FROM held h
WHERE q.ctid = h.at
RETURNING h.ord, q.token
