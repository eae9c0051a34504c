-- Reads events by their seqs. $1 shard, $2 ascending seqs.
SELECT e.*
FROM unnest($2::bigint[]) AS n (seq)
CROSS JOIN LATERAL (
    SELECT r.seq, r.instance_id, r.kind, r.node, r.path,
        coalesce((extract(epoch FROM clock_timestamp() - r.happened_at) * 1000000)::bigint, 0) AS age, r.data
    FROM events r WHERE r.shard = $1 AND r.seq = n.seq
    OFFSET 0
) e
