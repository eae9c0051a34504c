-- Whether one of several events would be there if it had been appended: its instance runs, and has no later state that
-- stands for it. $1 shard, $2 instances, $3 seqs.
SELECT coalesce(bool_or(i.status = 'running' AND NOT EXISTS (
    SELECT FROM events e WHERE e.shard = $1 AND e.seq >= w.seq AND e.instance_id = w.id AND e.kind = 3
)), false)
FROM unnest($2::uuid[], $3::bigint[]) AS w (id, seq)
CROSS JOIN LATERAL (SELECT i.status FROM instances i WHERE i.shard = $1 AND i.id = w.id OFFSET 0) i
