-- Deletes events by their seqs. $1 shard, $2 epoch, $3 seqs.
WITH fence AS MATERIALIZED (
    SELECT s.epoch FROM shards s WHERE s.shard = $1 AND s.epoch = $2 FOR KEY SHARE
)
DELETE FROM events e
USING (
    SELECT e.at
    FROM unnest($3::bigint[]) AS d (seq)
    CROSS JOIN LATERAL (
        SELECT e.ctid AS at FROM events e WHERE e.shard = $1 AND e.seq = d.seq OFFSET 0
    ) e
    WHERE EXISTS (SELECT FROM fence)
) f
WHERE e.ctid = f.at
