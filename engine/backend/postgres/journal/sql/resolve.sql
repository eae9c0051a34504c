-- Resolves an append: reports whether the shard still has the resolver's epoch, whether the append's event exists, and the state
-- of instances. $1 shard, $2 seq, $3 epoch of the append, $4 instances, $5 epoch of the resolver.
SELECT
    EXISTS (SELECT FROM shards WHERE shard = $1 AND epoch = $5),
    EXISTS (SELECT FROM events WHERE shard = $1 AND seq = $2 AND epoch = $3), i.id, i.status, coalesce(i.ended_by, 0), i.pending
FROM (SELECT 1) one
LEFT JOIN (
    SELECT i.*
    FROM unnest($4::uuid[]) AS w (id)
    CROSS JOIN LATERAL (SELECT i.* FROM instances i WHERE i.shard = $1 AND i.id = w.id OFFSET 0) i
) i ON true
