-- Renews the leases on shards that are still owned, and returns the shards; a lease that ends later stays. $1 owner, $2 lease in
-- µs, $3 shard, $4 epoch.
UPDATE shards s SET expires_at = greatest(s.expires_at, clock_timestamp() + $2::bigint * interval '1 microsecond')
FROM (
    SELECT r.at
    FROM unnest($3::smallint[], $4::bigint[]) AS h (shard, epoch)
    CROSS JOIN LATERAL (
        SELECT r.ctid AS at FROM shards r WHERE r.shard = h.shard AND r.epoch = h.epoch AND r.owner = $1::text
        FOR NO KEY UPDATE
    ) r
) f
WHERE s.ctid = f.at
RETURNING s.shard
