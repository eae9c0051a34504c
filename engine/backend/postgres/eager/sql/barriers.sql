-- Locks barrier rows in key order. With now, it fails instead of waiting.
-- $1 shard; $2 instance, $3 node, $4 place.
SELECT count(*)
FROM unnest($2::uuid[], $3::int[], $4::text[]) AS n (instance_id, node, place)
CROSS JOIN LATERAL (
    SELECT FROM node_ready_state r
    WHERE r.shard = $1 AND r.instance_id = n.instance_id AND r.node = n.node AND r.place = n.place
    FOR UPDATE
--[ now
    NOWAIT
--]
) r
