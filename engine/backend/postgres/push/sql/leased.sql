-- Which leases stand; nothing is locked. $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
SELECT l.ord
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
CROSS JOIN LATERAL (
    SELECT q.token FROM queue q
    WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.path = l.path
    OFFSET 0
) q
WHERE q.token = l.token
