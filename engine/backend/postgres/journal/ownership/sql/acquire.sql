-- Takes a shard that is free, whose owner's lease is over, or that is one's own, and gives the new epoch, and whether nobody
-- else had it since one had it oneself. A lease is never made shorter: there may be leases on node runs that end with it. It
-- waits for appends under way. What an owner that has not given it back has delivered is not all in the store. $1 shard, $2 owner, $3 lease in µs.
UPDATE shards
SET epoch = epoch + 1, previous = owner, owner = $2::text, counted = counted AND owner IS NULL,
    expires_at = greatest(expires_at, clock_timestamp() + $3::bigint * interval '1 microsecond')
WHERE shard = $1 AND (owner IS NULL OR owner = $2::text OR expires_at <= clock_timestamp())
RETURNING epoch, coalesce(previous = $2::text, false)
