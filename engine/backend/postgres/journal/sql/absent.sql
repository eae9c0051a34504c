-- For events of an append whose last event is missing: reports whether one exists; and whether one would have to exist, since its
-- instance runs and has no later snapshot. $1 shard, $2 instances, $3 seqs, $4 epoch.
SELECT
    coalesce(bool_or(EXISTS (SELECT FROM events e WHERE e.shard = $1 AND e.seq = w.seq AND e.epoch = $4)), false),
    coalesce(bool_or(i.status = 'running' AND NOT EXISTS (
        SELECT FROM events e WHERE e.shard = $1 AND e.seq >= w.seq AND e.instance_id = w.id AND e.kind = 3
    )), false)
FROM unnest($2::uuid[], $3::bigint[]) AS w (id, seq)
CROSS JOIN LATERAL (SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = w.id OFFSET 0) i
