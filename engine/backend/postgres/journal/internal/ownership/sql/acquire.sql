-- Takes a shard that is free, expired or already this owner's. Returns the new epoch, and whether no other owner had the shard
-- since the epoch known. A lease is never shortened: leases on node runs may end with it. Waits for appends under way. Deliveries
-- of an owner that did not return the shard are not all stored. $1 shard, $2 owner, $3 lease in µs, $4 epoch known.
UPDATE shards
SET epoch = epoch + 1, since = CASE WHEN owner = $2::text THEN since ELSE epoch + 1 END, owner = $2::text, counted = counted AND owner IS NULL,
    expires_at = greatest(expires_at, clock_timestamp() + $3::bigint * interval '1 microsecond')
WHERE shard = $1 AND (owner IS NULL OR owner = $2::text OR expires_at <= clock_timestamp())
RETURNING epoch, since <= $4::bigint
