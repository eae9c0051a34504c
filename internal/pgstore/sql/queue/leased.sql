-- Returns which leases are held. $1 shard; $2 ord, $3 instance, $4 node, $5 path, $6 token.
SELECT l.ord
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, path, token)
--[ running
CROSS JOIN LATERAL (
    SELECT FROM instances i WHERE i.shard = $1 AND i.id = l.instance_id AND i.status = 'running' OFFSET 0
) i
--]
CROSS JOIN LATERAL (
    SELECT FROM {table} q
    WHERE q.shard = $1 AND q.instance_id = l.instance_id AND q.node = l.node AND q.{path} = l.path
        AND q.token = l.token AND {leased}
--[ locked
    FOR UPDATE
--]
--[ seen
    OFFSET 0
--]
) q
