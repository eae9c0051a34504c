-- Which completions stand in the ledger. $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
SELECT c.ord
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS c (ord, instance_id, node, path, token)
CROSS JOIN LATERAL (
    SELECT q.token, q.status FROM ledger q
    WHERE q.shard = $1 AND q.instance_id = c.instance_id AND q.node = c.node AND q.path = c.path
    OFFSET 0
) q
WHERE q.token = c.token AND q.status <> 'leased'
