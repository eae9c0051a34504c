-- Records in a request which completions its append applies, in the same transaction. If the request was withdrawn, or the shard
-- no longer has the epoch, it fails by a division by zero, which rolls the append back. $1 shard, $2 epoch, $3 request, $4
-- tokens.
WITH marked AS (
    UPDATE requests r SET applied = coalesce(r.applied, '{}') || $4::bigint[]
    WHERE r.shard = $1::smallint AND r.id = $3::uuid AND NOT r.withdrawn
        AND EXISTS (SELECT FROM shards s WHERE s.shard = $1::smallint AND s.epoch = $2::bigint)
    RETURNING 1
)
SELECT 1 / count(*)::int FROM marked
