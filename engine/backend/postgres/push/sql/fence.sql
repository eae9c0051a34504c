-- Gives completions whose commit was not confirmed a new token, where they are still open: the lost
-- commit, should the server get to it after all, is then stale.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
UPDATE queue q
SET token = nextval('tokens')
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS c (ord, instance_id, node, path, token)
WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
    AND q.token = c.token AND q.status = 'leased'
RETURNING c.ord, q.token
