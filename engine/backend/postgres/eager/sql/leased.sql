-- Which leases stand; nothing is locked. $1 shard; $2 ord, $3 instance, $4 node, $5 place, $6 token.
SELECT l.ord
FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[], $6::bigint[]) AS l (ord, instance_id, node, place, token)
CROSS JOIN LATERAL (
    SELECT r.token, r.is_queued, r.is_completed FROM node_ready_state r
    WHERE r.shard = $1 AND r.instance_id = l.instance_id AND r.node = l.node AND r.place = l.place
    OFFSET 0
) r
WHERE r.token = l.token AND r.is_queued AND NOT r.is_completed
