-- Deletes and returns the values pushed to ready aggregates.
-- $1 shard; $2 ord, $3 instance, $4 node, $5 place.
WITH pushed AS MATERIALIZED (
    SELECT g.ord, p.at
    FROM unnest($2::int[], $3::uuid[], $4::int[], $5::text[]) AS g (ord, instance_id, node, place)
    CROSS JOIN LATERAL (
        SELECT p.ctid AS at FROM node_pending_context p
        WHERE p.shard = $1 AND p.instance_id = g.instance_id AND p.node = g.node AND p.place = g.place AND p.element >= 0
        OFFSET 0
    ) p
)
DELETE FROM node_pending_context p USING pushed WHERE p.ctid = pushed.at
RETURNING pushed.ord, p.element, p.payload
