-- Takes a shard that is free, whose owner's lease is over, or that is one's own, and gives the new epoch, and whether nobody
-- else had it since one had it oneself in the epoch known. A lease is never made shorter: there may be leases on node runs that end with it. It
-- waits for appends under way. What an owner that has not given it back has delivered is not all in the store. $1 shard, $2 owner, $3 lease in µs, $4 epoch known.
UPDATE shards
SET epoch = epoch + 1, since = CASE WHEN owner = $2::text THEN since ELSE epoch + 1 END, owner = $2::text, counted = counted AND owner IS NULL,
    expires_at = greatest(expires_at, clock_timestamp() + $3::bigint * interval '1 microsecond')
WHERE shard = $1 AND (owner IS NULL OR owner = $2::text OR expires_at <= clock_timestamp())
RETURNING epoch, since <= $4::bigint
